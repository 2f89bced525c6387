# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What test-migrate and soak-migrate share: the parts, with how much of each.
. "$LAB/tally.sh"
. "$LAB/boot.sh"

WORK=
SEED= # of what the parts draw; empty: each draws its own

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
		--kernel="$BUILD/guest/vmlinux" --initrd="$WORK/live.cpio" ${SEED:+"--seed=$SEED"} "${@:2}")
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

# migrate_across FROM INTO COUNT: points in L1 from one accelerator to the other. What both have of LWP, no
# paravirtualisation, and a machine type that has no KVM clock without it.
migrate_across()
{
	migrate_nested points "$3" "--accel=$1" "--into=$2" --machine=pc-q35-5.1 \
		--cpu="lwp-dme=off,lwp-cnh=off,lwp-rnh=off,kvm=off"
}

# migrate_attributes COUNT: so many damaged images and context arrays for KVM, and guests that run with them
migrate_attributes()
{
	local SMP=1 log=$WORK/attributes.out

	nested_boot "$HOST/kvm/tests/kvm_hostile" attributes "$1" "${SEED:-$((RANDOM * 32768 + RANDOM))}" >"$log" 2>&1 || true
	cat "$log"
	add_counts "$(grep -c '^ok ' "$log")" "$(grep -c '^not ok ' "$log")" 0
	grep -q '^1[.][.]' "$log" || not_ok "the test of KVM's attributes ended early"
}

# pair_host ROLE OTHER COUNT: one of two L1 machines that a datagram socket links
pair_host()
{
	local SMP=1 MEMORY=1536 NESTED_DEVICES=(
		-netdev "dgram,id=link,local.type=unix,local.path=$WORK/$1.socket,remote.type=unix,remote.path=$WORK/$2.socket"
		-device "virtio-net-pci,netdev=link,mac=52:54:00:00:00:0${#1}")

	migrate_command /run --accel=kvm "--role=$1" "--count=$3" pair
	in_l1 "$1" "${MIGRATE[@]}" || true
	mv "$WORK/$1/log" "$WORK/$1.out"
}

# migrate_pair COUNT: live migrations between two L1 machines
migrate_pair()
{
	pair_host second first "$1" &
	pair_host first second "$1"
	wait "$!" || true
	cat "$WORK/first.out" "$WORK/second.out"
	: >"$WORK/first.err"
	: >"$WORK/second.err"
	migrate_result first
	migrate_result second
}
