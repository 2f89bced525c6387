#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In L1 of the nested lab: run the KVM selftests in DIR one after the other. A line for each: NAME STATUS, where 4 is
# that it skips itself and 124 that it did not end within LIMIT seconds.
# selftests-l1 DIR LOGS LIMIT
dir=$1 logs=$2 limit=$3

cd "$dir" || exit 1
for test in *; do
	[[ -x $test && -f $test ]] || continue
	status=0
	timeout --kill-after=5 "$limit" "./$test" >"$logs/$test" 2>&1 </dev/null || status=$?
	echo "$test $status"
done
echo "all done"
