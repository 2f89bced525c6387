# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What test-migrate and soak-migrate share: the parts, with how much of each.
. "$LAB/tally.sh"

WORK=
# migrate_prepare: build what is needed; a private directory
migrate_prepare()
{
	local part

	for part in tools guest qemu; do
		"$LAB/build-$part"
	done
	"$LAB/build-qemu" base
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/vlwp-migrate.XXXXXX") ||
		die "cannot create a directory in ${TMPDIR:-/tmp}"
	trap 'rm -rf -- "$WORK"' EXIT
	mkdir "$WORK/live.root"
	cp "$HOST/guest-tests/linux/live" "$WORK/live.root/init"
	(cd "$WORK/live.root" && find . | cpio -o -H newc --quiet -R 0:0) >"$WORK/live.cpio"
}

# migrate_part NAME [COUNT]: one part of migratetest
migrate_part()
{
	local log=$WORK/$1.out

	mkdir -p "$WORK/$1"
	"$HOST/lab/migrate/migratetest" --qemu="${VLWP_QEMU:-$BUILD/qemu/qemu-system-x86_64}" \
		--base="$BUILD/qemu-base/qemu-system-x86_64" --firmware="$FIRMWARE" \
		--flat="$HOST/guest-tests/flat/flat.elf" --work="$WORK/$1" \
		--kernel="$BUILD/guest/vmlinux" --initrd="$WORK/live.cpio" --jobs="$(jobs_count)" \
		${2:+"--count=$2"} "$1" 2>"$WORK/$1.err" | tee "$log" || true
	if [[ $(tail -n 1 -- "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		add_counts "${BASH_REMATCH[@]:1}"
	else
		not_ok "$1: $(tail -n 1 -- "$WORK/$1.err")"
	fi
}
