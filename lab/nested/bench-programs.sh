#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In a guest of 'bench kvm': programs without a profile and with one, as samplecost. bench-programs.sh LWPRUN PERIOD
set -euo pipefail

# run HOW SAMPLES COMMAND...
run()
{
	local how=$1 samples=$2 begin && shift 2

	echo begin
	read -r
	begin=${EPOCHREALTIME/./}
	"$@" >/dev/null
	echo "end $how $samples $((${EPOCHREALTIME/./} - begin))"
	read -r
}

# each NAME COMMAND...
each()
{
	local name=$1 && shift

	run "none/$name" 0 "$@"
	run "$name" lwp "$lwprun" -o /tmp/profile -e "instructions:$period" -- "$@"
}

lwprun=$1 period=$2
each perl perl -e '$h{$_ % 97} .= chr($_ & 127) for 1..2000; s/a(.)b/$1/g for sort values %h'
each xz xz -1 -c /usr/share/common-licenses/GPL-3
each sqlite3 sqlite3 "" 'with recursive c(x) as (values(1) union select x * 7919 % 1009 from c) select sum(x) from c'
each python3 /usr/bin/python3 -S -c 'sorted(str(i * 7919 % 997).replace("1", "ab") for i in range(900))'
