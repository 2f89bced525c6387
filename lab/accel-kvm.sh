# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --accel=kvm: the guest runs under this machine's KVM if that has LWP, else in the nested lab.

. "$LAB/nested.sh"

ACCEL_LAB=0 # 1: in the lab

# accel_kvm_prepare: decide which, and build what it takes
accel_kvm_prepare()
{
	local has

	has=$(cat /sys/module/kvm_amd/parameters/lwp 2>/dev/null) || has=N
	if [[ $has == Y ]]; then
		[[ -w /dev/kvm ]] || skip "--accel=kvm needs write access to /dev/kvm"
		return
	fi
	ACCEL_LAB=1
	[[ ! $STATS ]] || usage "--stats is for guests that this machine runs itself, not for the nested lab"
	say "no kvm_amd with LWP is loaded here: using the nested lab, an emulated AMD machine that has it"
	"$LAB/build-kvm"
}

# accel_kvm_lab COMMAND ARG...: run one command in a guest of the lab
accel_kvm_lab()
{
	local guest=("$SMP" "$MEMORY" "$CPU_PROPERTIES")
	local SMP=1 MEMORY=$((MEMORY + 1024))

	nested_boot "$LAB/nested-l2" "${guest[@]}" "$@"
}
