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
	say "no kvm_amd with LWP is loaded here: using the nested lab, an emulated AMD machine that has it"
	"$LAB/build-kvm"
}

# accel_kvm_lab COMMAND ARG...: run one command in a guest of the lab, whose machine has a PMU
accel_kvm_lab()
{
	local guest=("$SMP" "$MEMORY" "$CPU_PROPERTIES" "${STATS:+stats}") status=0
	local SMP=1 MEMORY=$((MEMORY + 1024)) NESTED_CPU=${NESTED_CPU:-EPYC,pmu=on,+perfctr-core}

	nested_boot "$LAB/nested-l2" "${guest[@]}" "$@" || status=$?
	if [[ $STATS && -s $RUN/share/stats ]]; then
		cp -- "$RUN/share/stats" "$STATS" || die "$STATS: cannot write this file"
	fi
	return "$status"
}

# accel_kvm_source FILE: how a guest with these statistics of KVM's was counted, in one line
accel_kvm_source()
{
	awk '
		{ sum[$2] += $3 }
		END {
			steps = sum["steps"] + 0
			if (sum["counter-irqs"])
				printf "Counted by the PMU: %d interrupts, %d steps", sum["counter-irqs"], steps
			else
				printf "Counted in steps: %d", steps
			printf " for %d records", sum["records"]
			if (sum["no-counter"])
				printf "; a counter was missing %d times", sum["no-counter"]
			print "."
		}' "$1"
}
