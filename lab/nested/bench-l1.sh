#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In L1 of the nested lab: what KVM counts while samplecost runs in a guest. A part of 'bench kvm', which reads this
# output. bench-l1.sh REASONS GUEST-COMMAND...: for each way to profile a line "end HOW SAMPLES MICROSECONDS EXITS";
# REASONS 1: before it the kernel's histogram of the exits' reasons
set -euo pipefail

reasons=$1
shift
kvm=/sys/kernel/debug/kvm tracing=/sys/kernel/tracing
exit_event=$tracing/events/kvm/kvm_exit
histogram=hist:keys=exit_reason.hex:sort=hitcount.descending

# exits: of all vCPUs that there are
exits()
{
	cat "$kvm/exits"
}

[[ -e $kvm/exits ]] || mount -t debugfs none /sys/kernel/debug
[[ -e $exit_event ]] || mount -t tracefs none "$tracing"
coproc guest {
	exec "$@"
}
guest_pid=$!
exec 3<&"${guest[0]}" 4>&"${guest[1]}"
before=0
while read -r what how samples time <&3; do
	case $what in
	begin)
		((!reasons)) || echo "$histogram" >"$exit_event/trigger"
		before=$(exits)
		;;
	end)
		count=$(($(exits) - before))
		((!reasons)) || {
			cat "$exit_event/hist"
			echo "!$histogram" >"$exit_event/trigger"
		}
		echo "end $how $samples $time $count"
		;;
	*)
		echo "samplecost: $what $how $samples $time"
		exit 1
		;;
	esac
	echo >&4
done
wait "$guest_pid"
