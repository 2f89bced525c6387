#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In L1 of the nested lab: run one command while the kernel traces which records `exact` delivers late and how often
# a counter is read. trace-l1.sh COMMAND ARG...; the late ones go to $VLWP_SHARE/overshoots, the number of reads
# to $VLWP_SHARE/reads.
set -euo pipefail

tracing=/sys/kernel/tracing
[[ -e $tracing/trace ]] || mount -t tracefs none "$tracing"
echo 32768 >"$tracing/buffer_size_kb"
for event in overshoot counted; do
	echo 1 >"$tracing/events/kvm_lwp/kvm_lwp_$event/enable"
done
status=0
"$@" || status=$?
echo 0 >"$tracing/tracing_on"
if grep -E '^(overrun|dropped events): [^0]' "$tracing"/per_cpu/cpu*/stats; then
	echo "the trace has lost events"
	exit 1
fi
grep 'kvm_lwp_overshoot: ' "$tracing/trace" >"$VLWP_SHARE/overshoots" || true
grep -c 'kvm_lwp_counted: ' "$tracing/trace" >"$VLWP_SHARE/reads" || true
exit "$status"
