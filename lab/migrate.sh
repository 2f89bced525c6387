# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What test-migrate and soak-migrate share: the parts, with how much of each.
. "$LAB/tally.sh"
. "$LAB/boot.sh"

WORK=

# So that TCG and KVM can take up what the other saved: what both have of LWP, no paravirtualisation, and a
# machine type that has no KVM clock without it.
ACROSS=(--machine=pc-q35-5.1 --cpu=lwp-dme=off,lwp-cnh=off,lwp-rnh=off,kvm=off)

# migrate_prepare: build what is needed; a private directory
migrate_prepare()
{
	nested_prepare
	"$LAB/build-qemu" base
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/vlwp-migrate.XXXXXX") ||
		die "cannot create a directory in ${TMPDIR:-/tmp}"
	RUN=$WORK
	mkdir "$WORK/share"
	trap 'rm -rf -- "$WORK"' EXIT
	mkdir "$WORK/live.root"
	cp "$HOST/guest-tests/linux/live" "$WORK/live.root/init"
	(cd "$WORK/live.root" && find . | cpio -o -H newc --quiet -R 0:0) >"$WORK/live.cpio"
}

# migrate_command WORK ARG...: set MIGRATE to a command line of migratetest
migrate_command()
{
	MIGRATE=("$HOST/lab/migrate/migratetest" --qemu="${VLWP_QEMU:-$BUILD/qemu/qemu-system-x86_64}"
		--base="$BUILD/qemu-base/qemu-system-x86_64" --firmware="$FIRMWARE"
		--flat="$HOST/guest-tests/flat/flat.elf" --work="$1"
		--kernel="$BUILD/guest/vmlinux" --initrd="$WORK/live.cpio" "${@:2}")
}

# migrate_result NAME: count what $WORK/NAME.out says at its end
migrate_result()
{
	local log=$WORK/$1.out

	if [[ $(tail -n 1 -- "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		add_counts "${BASH_REMATCH[@]:1}"
	else
		not_ok "$1: $(tail -n 1 -- "$WORK/$1.err")"
	fi
}

# migrate_part NAME [COUNT]: one part of migratetest
migrate_part()
{
	mkdir -p "$WORK/$1"
	migrate_command "$WORK/$1" --jobs="$(jobs_count)" ${2:+"--count=$2"} "$1"
	"${MIGRATE[@]}" 2>"$WORK/$1.err" | tee "$WORK/$1.out" || true
	migrate_result "$1"
}

# migrate_nested NAME COUNT [OPTION...]: the same in L1 of the nested lab
migrate_nested()
{
	local SMP=1

	echo "In the nested lab ${*:3}:"
	migrate_command /run --jobs=1 "--count=$2" "${@:3}" "$1"
	nested_boot "${MIGRATE[@]}" 2>"$WORK/$1.err" | tee "$WORK/$1.out" || true
	migrate_result "$1"
}
