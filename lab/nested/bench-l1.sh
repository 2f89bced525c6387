#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In L1 of the nested lab: what KVM counts while samplecost or bench-programs.sh runs in a guest. A part of 'bench kvm',
# which reads this output. bench-l1.sh GUEST-COMMAND...: for each way to profile a line
# "end HOW SAMPLES MICROSECONDS EXITS"
set -euo pipefail

kvm=/sys/kernel/debug/kvm
[[ -e $kvm/exits ]] || mount -t debugfs none /sys/kernel/debug
coproc guest {
	exec "$@"
}
guest_pid=$!
exec 3<&"${guest[0]}" 4>&"${guest[1]}"
before=0 stored=0
while read -r what how samples time <&3; do
	case $what in
	begin)
		before=$(<$kvm/exits) stored=$(<$kvm/lwp_records)
		;;
	end)
		count=$(($(<$kvm/exits) - before))
		[[ $samples != lwp ]] || samples=$(($(<$kvm/lwp_records) - stored))
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
