# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmcbench in a guest: its tables beside what its snippets are made of. Wants tally.sh.

# pmcbench_tables DIR RUNS ARG...: what pmcbench prints in a guest of 'shell ARG...', into DIR/pmcbench
pmcbench_tables()
{
	local dir=$1 runs=$2
	shift 2

	"$LAB/shell" "$@" -- /bin/sh -ec '
		"$0" --runs="$1" --event=instructions,branches,taken,conditional,far,cycles
		"$0" --runs="$1" --snippet=loop10 --event=instructions,branches,conditional
		"$0" --runs="$1" --snippet=call --event=branches,instructions
		"$0" --runs=100 --lwp --event=instructions,branches,taken
		"$0" --runs=100 --lwp --snippet=loop10 --event=branches,taken,instructions' \
		"$HOST/guest-tests/linux/pmcbench/pmcbench" "$runs" >"$dir/pmcbench" || return 1
	cat "$dir/pmcbench"
}

# pmcbench_right DIR: of the counts above the floor, the smallest of each event is what the snippet has, since
# interrupts add branches and far transfers; of instructions all are.
pmcbench_right()
{
	diff - <(awk '
		/ runs on CPU / { table = $1 (/LWP/ ? "/lwp" : "") }
		NF == 10 && $1 !~ /^event$|:$/ { print table, $1, $8, $1 == "instructions" ? $9 " " $10 : "" }' "$1/pmcbench" |
		sed 's/ *$//') <<-EOF
		nop4 instructions 4 4 4
		nop4 branches 0
		nop4 taken 0
		nop4 conditional 0
		nop4 far 0
		nop4 cycles 4
		loop10 instructions 21 21 21
		loop10 branches 10
		loop10 conditional 10
		call branches 3
		call instructions 3 3 3
		nop4/lwp instructions 4 4 4
		nop4/lwp branches 0
		nop4/lwp taken 0
		loop10/lwp branches 10
		loop10/lwp taken 9
		loop10/lwp instructions 21 21 21
	EOF
}
