# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The source trees of QEMU: fetching and unpacking the pristine one, and keeping a patched copy in
# step with this repository in such a way that a file whose content stays keeps its time stamp.

# The point release that the series is made against; another 10.0.x serves when it is gone.
QEMU_VERSION=1:10.0.13+ds-0+deb13u1

# qemu_version: the wanted version if the archive has it, else its newest 10.0.x
qemu_version()
{
	local versions

	versions=$(archive_apt apt-cache showsrc qemu 2>/dev/null | sed -n 's/^Version: //p' |
		grep -E '^1:10\.0\.' | sort -Vu) ||
		die "the Debian archive has no QEMU 10.0.x: set VLWP_QEMU_TARBALL=qemu-10.0.N.tar.xz"
	grep -Fx "$QEMU_VERSION" <<<"$versions" || tail -n 1 <<<"$versions"
}

download_qemu()
{
	(cd "$DL" && archive_apt apt-get source --download-only "qemu=$1")
}

# unpack_qemu TARBALL DIR: without roms/, the sources of firmware images that are not built here
unpack_qemu()
{
	rm -rf "$2.new"
	mkdir -p "$2.new" &&
		tar -xf "$1" -C "$2.new" --strip-components=1 --exclude='*/roms/*' &&
		mv "$2.new" "$2"
}

# fetch_qemu: set PRISTINE to the unpacked source, of VLWP_QEMU_TARBALL if the user names one
fetch_qemu()
{
	local tarball=${VLWP_QEMU_TARBALL-} name=upstream version

	make_dir "$BUILD/src"
	if [[ ! $tarball ]]; then
		name=qemu
		PRISTINE=$(find "$BUILD/src/" -maxdepth 1 -name 'qemu-10.0.*' ! -name '*.new' 2>/dev/null |
			sort -V | tail -n 1)
		[[ $PRISTINE ]] && return
		archive_update
		version=$(qemu_version)
		step "downloading the source of QEMU ${version#*:}" qemu-download download_qemu "$version"
		tarball=$DL/qemu_${version#*:}
		tarball=${tarball%-*}.orig.tar.xz
	fi
	[[ -r $tarball ]] || die "$tarball: cannot read this tarball"
	[[ ${tarball##*/} =~ ^qemu[-_](10\.0\.[0-9]+) ]] ||
		die "$tarball: the base is QEMU 10.0.x, the name must be qemu-10.0.N.tar.xz"
	PRISTINE=$BUILD/src/$name-${BASH_REMATCH[1]}
	[[ -d $PRISTINE ]] && return
	step "unpacking ${tarball##*/}" qemu-unpack unpack_qemu "$tarball" "$PRISTINE"
}

# patches_of FLAVOUR: the patches, in order
patches_of()
{
	local dir

	for dir in "$TOP/qemu-patches/packaging" "$TOP/qemu-patches/patches"; do
		[[ $1 == base && $dir == */patches ]] && continue
		find "$dir" -name '*.patch' 2>/dev/null | LC_ALL=C sort
	done
}

# new_files STAGE: what exists upstream nowhere: the shared sources, flat in one directory, and
# QEMU's own part of LWP
new_files()
{
	local lwp=$1/target/i386/lwp

	mkdir -p "$lwp"
	find "$TOP/vmcb" "$TOP/kvm/engine" -maxdepth 1 -name 'lwp_*.[ch]' -exec cp -t "$lwp" {} +
	[[ -d $TOP/qemu-patches/target ]] && cp -r "$TOP/qemu-patches/target" "$1/"
	return 0
}

# stage_tree FLAVOUR STAGE: only the files in which the flavour differs from the pristine source
stage_tree()
{
	local patch file

	rm -rf "$2"
	mkdir -p "$2"
	[[ $1 == base ]] || new_files "$2"
	while read -r patch; do
		while read -r file; do
			[[ -f $PRISTINE/$file && ! -e $2/$file ]] || continue
			mkdir -p "$2/$(dirname -- "$file")"
			cp "$PRISTINE/$file" "$2/$file"
		done < <(sed -n 's,^--- a/\([^\t]*\).*,\1,p' "$patch")
		echo "${patch##*/}"
		patch -d "$2" -p1 --fuzz=0 --force --no-backup-if-mismatch <"$patch" || return 1
	done < <(patches_of "$1")
}

# sync_tree FLAVOUR TREE: make TREE the pristine source plus the staged files
sync_tree()
{
	local flavour=$1 tree=$2 stage=$BUILD/src/stage-$1 list=$BUILD/src/stage-$1.list file

	step "applying the patches of QEMU ($flavour)" "qemu-$flavour-patches" stage_tree "$flavour" "$stage"
	if ! fresh "tree-$flavour" "$PRISTINE"; then
		rm -rf "$tree"
		mkdir -p "$tree"
		tar -C "$PRISTINE" --exclude=./roms -cf - . | tar -C "$tree" -xf -
		rm -f "$list"
	fi
	touch "$list"
	(cd "$stage" && find . -type f) >"$list.new"
	while read -r file; do # no longer staged: back to the pristine one, or gone
		[[ -e $stage/$file ]] && continue
		if [[ -e $PRISTINE/$file ]]; then
			cp "$PRISTINE/$file" "$tree/$file"
		else
			rm -f "$tree/$file"
		fi
	done <"$list"
	while read -r file; do
		cmp -s "$stage/$file" "$tree/$file" && continue
		mkdir -p "$tree/$(dirname -- "$file")"
		cp "$stage/$file" "$tree/$file"
	done <"$list.new"
	mv "$list.new" "$list"
	stamp "tree-$flavour" "$PRISTINE"
}
