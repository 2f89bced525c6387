# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What ./vlwp export promises, for a series in $SERIES/linux and $SERIES/qemu: it applies, each patch says what
# it is, and checkpatch has no complaint but those that the cover letter names.

# patches_in DIR: those of a series, in order, without its cover letter
patches_in()
{
	find "$1" -name '*.patch' ! -name '0000-*' | LC_ALL=C sort
}

# series_applies NAME PRISTINE: git am on the files of the source that the series touches
series_applies()
{
	local tree=$SERIES/tree-$1 patches

	mkdir "$tree"
	sed -n 's,^--- a/\([^\t]*\).*,\1,p' "$SERIES/$1"/*.patch | sort -u | (cd "$2" && tar -cf - --ignore-failed-read -T - 2>/dev/null) |
		tar -xf - -C "$tree"
	mapfile -t patches < <(patches_in "$SERIES/$1")
	series_begin "$tree" && series_git "$tree" am "${patches[@]}"
}

# checkpatch SOURCE SERIES [PATTERN]: the source's own script has no complaint but those that match PATTERN. New
# files without an entry in MAINTAINERS are what maintainers decide.
checkpatch()
{
	local expected="does MAINTAINERS need updating${3:+|$3}" complaints patches

	mapfile -t patches < <(patches_in "$SERIES/$2")
	complaints=$(cd "$1" && { perl scripts/checkpatch.pl --no-tree --terse -q "${patches[@]}" || true; } |
		sed -n '/: \(ERROR\|WARNING\|CHECK\): /p' | { grep -vE "$expected" || true; })
	echo "$complaints"
	[[ ! $complaints ]]
}

linux_is_clean()
{
	checkpatch "$1" linux
}

# The shared files keep the kernel's style, the opcode table its own.
qemu_is_clean()
{
	local shared='code indent should never use tabs|braces .. are necessary|line over [89]0 char'

	checkpatch "$1" qemu "$shared|architecture specific defines|-decode-the-LWP-instructions\.patch:"
}

# Whoever exports may sign off.
signed_by_another()
{
	local name='A. Tester <tester@example.org>' patch bad=0

	"$LAB/export" --as="$name" "$SERIES/other" || return 1
	while read -r patch; do
		grep -qx "Signed-off-by: $name" "$patch" && ! grep -q 'Signed-off-by: vlwp' "$patch" || {
			echo "${patch##*/}: $(grep Signed-off-by "$patch")"
			bad=1
		}
	done < <(patches_in "$SERIES/other")
	return "$bad"
}

not_into_a_full_directory()
{
	local err

	err=$("$LAB/export" "$SERIES/linux" 2>&1) && return 1
	echo "$err"
	[[ $err == *"not empty"* && $err != *$'\n'* ]]
}

# series_checks LINUX QEMU: all of it, on the unpacked sources
series_checks()
{
	SERIES=$(mktemp -d "${TMPDIR:-/tmp}/vlwp-series.XXXXXX") || die "cannot create a directory in ${TMPDIR:-/tmp}"
	check "export: both series are written" "$LAB/export" "$SERIES/all"
	mv "$SERIES"/all/* "$SERIES/"
	check "export: the series for Linux applies with git am" series_applies linux "$1"
	check "export: the series for QEMU applies with git am" series_applies qemu "$2"
	check "export: checkpatch has nothing against the series for Linux" linux_is_clean "$1"
	check "export: checkpatch has nothing against the series for QEMU but what its cover letter says" \
		qemu_is_clean "$2"
	check "export: whoever exports may sign off" signed_by_another
	check "export: a directory with files is left alone" not_into_a_full_directory
	rm -rf -- "$SERIES"
}
