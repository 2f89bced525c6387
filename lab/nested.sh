# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The nested lab: QEMU in TCG is an AMD machine without LWP (L0) in which the stock kernel runs with our
# kvm.ko and kvm-amd.ko (L1). What L1 runs may use /dev/kvm. Part of boot.sh.

# nested_prepare: what it takes is there and up to date
nested_prepare()
{
	"$LAB/deps"
	local part

	for part in tools guest kvm qemu; do
		"$LAB/build-$part"
	done
}

# nested_lab_of PROGRAM: NESTED_CPU, NESTED_KVM_AMD and NESTED_ARGUMENT as a program of kvm/tests wants them, for those
# who run each once; test-kvm varies them
# shellcheck disable=SC2034 # NESTED_ARGUMENT is the caller's
nested_lab_of()
{
	NESTED_CPU=EPYC,pmu=on NESTED_KVM_AMD=lwp_source=perf NESTED_ARGUMENT=
	case $1 in
	*_perf) NESTED_CPU+=,pmu-skid=500 NESTED_ARGUMENT=500 ;;
	*_prompt) NESTED_CPU+=,pmu-skid=zen3 ;;
	*_overcount) NESTED_CPU+=,pmu-overcount-ring=20,pmu-overcount-vmrun=300 ;;
	*_vpmu) NESTED_CPU+=,perfctr-core=on ;;
	*_clock) ;;
	*_source) NESTED_CPU=EPYC NESTED_KVM_AMD=lwp_source=fake ;;
	*_avic) NESTED_CPU=EPYC NESTED_KVM_AMD="avic=1 force_avic=1" ;;
	*) NESTED_CPU=EPYC NESTED_KVM_AMD= ;;
	esac
}

# nested_boot COMMAND ARG...: run a command in L1. SMP, MEMORY as in boot.sh; NESTED_CPU: another CPU model
# than EPYC; NESTED_STOCK=1: with the kernel's own KVM modules; NESTED_KVM_AMD: parameters of kvm-amd;
# KVM_MODULES: the directory of other modules than ours; NESTED_LIMIT: give L1 up after so many seconds;
# NESTED_DEVICES: an array of further arguments of L0's QEMU;
# NESTED_KERNEL: a directory with vmlinux and initramfs.cpio of a kernel that has KVM built in.
nested_boot()
{
	local kernel=${NESTED_KERNEL:-$BUILD/guest} modules=${NESTED_KERNEL:+none}

	VLWP_SHARE=$GUEST_SHARE ${NESTED_LIMIT:+timeout --kill-after=5 "$NESTED_LIMIT"} "$HOST/lab/vmrun" --cwd="$PWD" --log="$RUN/qemu.log" \
		--console="$RUN/console" --modules="$BUILD/guest/sysroot/lib/modules/$(<"$BUILD/guest/version")" \
		"${VLWP_QEMU:-$BUILD/qemu/qemu-system-x86_64}" -L "$FIRMWARE" \
		-machine q35 -accel tcg,thread=multi -smp "$SMP" -m "$MEMORY" \
		-cpu "${NESTED_CPU:-EPYC},-lwp" \
		-nodefaults -no-user-config -display none -no-reboot -serial "file:$RUN/console" \
		-kernel "$kernel/vmlinux" -initrd "$kernel/initramfs.cpio" \
		-append "$KERNEL_ARGS" \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-virtfs "local,path=$RUN/share,mount_tag=share,security_model=none,multidevs=remap" \
		${NESTED_DEVICES[@]+"${NESTED_DEVICES[@]}"} \
		-- "$LAB/nested-l1" "${modules:-${KVM_MODULES:-$BUILD/kvm}}" "${NESTED_STOCK:-0}" "${NESTED_KVM_AMD-}" "$@"
}

# in_l1 NAME COMMAND ARG...: the same with files of its own in $RUN/NAME, its output in $RUN/NAME/log;
# several may run at once
in_l1()
{
	local RUN=$RUN/$1
	shift

	mkdir -p "$RUN/share"
	nested_boot "$@" >"$RUN/log" 2>&1 </dev/null
}
