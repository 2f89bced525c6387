# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Starting a guest: the options that 'run' and 'shell' share, the machine, the private directory of
# one run. The options' help text:
BOOT_HELP='
    --accel=tcg|kvm           who runs the guest (default tcg: QEMU, on any machine); kvm where no
                              KVM has LWP: inside of an emulated machine that has it, slow
    --smp=N                   processors of the guest (default 2)
    --memory=MIB              its memory (default 1024)
    --cpu=PROPERTY,...        CPU properties, as lwp-rev=2007,lwp-context=os,-lwp
    --stats=FILE              write what QEMU or KVM counted of LWP there at the end: CPU NAME VALUE
    The guest sees this machine'\''s files as you can read them; what it writes is gone at the end.'

. "$LAB/accel-kvm.sh"

GUEST_SHARE=/run/vlwp # where the guest has the directory $RUN/share
ACCEL=tcg
SMP=2
MEMORY=1024
CPU_PROPERTIES=
STATS=

# boot_option ARG: take one of the shared options; false when it is none
boot_option()
{
	local value=${1#*=}

	case $1 in
	--accel=tcg | --accel=kvm)
		ACCEL=$value
		;;
	--accel | --accel=*)
		usage "$1: the accelerator is --accel=tcg or --accel=kvm"
		;;
	--smp=*)
		[[ $value =~ ^[1-9][0-9]{0,2}$ ]] || usage "$1: the number of processors is 1 to 999"
		SMP=$value
		;;
	--memory=*)
		[[ $value =~ ^[1-9][0-9]{1,6}$ ]] && ((value >= 256)) ||
			usage "$1: the memory is 256 to 9999999, in MiB"
		MEMORY=$value
		;;
	--cpu=*)
		[[ $value ]] || usage "$1: needs properties, as lwp-rev=2007"
		CPU_PROPERTIES=$value
		;;
	--stats=*)
		[[ $value ]] || usage "$1: needs a file name"
		(: >"$value") 2>/dev/null || die "$value: cannot write this file"
		STATS=$value
		;;
	*)
		return 1
		;;
	esac
}

# boot_prepare: what a guest needs is there and up to date; VLWP_QEMU names another QEMU to run
boot_prepare()
{
	[[ ! ${VLWP_QEMU-} || -x $VLWP_QEMU ]] || die "VLWP_QEMU=$VLWP_QEMU: no program there"
	[[ $ACCEL == tcg ]] || accel_kvm_prepare
	"$LAB/deps"
	"$LAB/build-tools"
	"$LAB/build-guest"
	[[ ${VLWP_QEMU-} ]] || "$LAB/build-qemu"
}

# boot_dir: set RUN to this run's private directory, which goes when the script ends
boot_dir()
{
	RUN=$(mktemp -d "${TMPDIR:-/tmp}/vlwp.XXXXXX") || die "cannot create a directory in ${TMPDIR:-/tmp}"
	trap 'rm -rf -- "$RUN"' EXIT
	mkdir "$RUN/share"
}

# What the guest's kernel is told. On a busy host emulated timers come late, which the kernel takes for
# broken hardware: no checks of the timer, of the TSC against other clocks, of stalled processors.
KERNEL_ARGS="console=ttyS0 loglevel=4 panic=-1 no_timer_check tsc=reliable nowatchdog"
# What costs boot time and protects nothing in a guest that lives for one command.
KERNEL_ARGS+=" mitigations=off cryptomgr.notests"

# boot_guest COMMAND ARG...: run one command in a guest; its output and exit status are ours.
# FSGSBASE is hidden because automatic contexts know a thread by its FS base.
boot_guest()
{
	if ((ACCEL_LAB)); then
		accel_kvm_lab "$@"
		return
	fi
	VLWP_SHARE=$GUEST_SHARE "$HOST/lab/vmrun" --cwd="$PWD" --log="$RUN/qemu.log" \
		--console="$RUN/console" --modules="$BUILD/guest/sysroot/lib/modules/$(<"$BUILD/guest/version")" \
		${STATS:+"--stats=$STATS"} \
		"${VLWP_QEMU:-$BUILD/qemu/qemu-system-x86_64}" -L "$FIRMWARE" \
		-machine q35 -accel "${ACCEL/#tcg/tcg,thread=multi}" -smp "$SMP" -m "$MEMORY" \
		-cpu "EPYC,-fsgsbase,+lwp${CPU_PROPERTIES:+,$CPU_PROPERTIES}" \
		-nodefaults -no-user-config -display none -no-reboot -serial "file:$RUN/console" \
		-kernel "$BUILD/guest/vmlinux" -initrd "$BUILD/guest/initramfs.cpio" \
		-append "$KERNEL_ARGS" \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-virtfs "local,path=$RUN/share,mount_tag=share,security_model=none,multidevs=remap" \
		-- "$@"
}
