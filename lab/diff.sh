# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The differential test: the same random programs in TCG and, in the nested lab, in KVM. What LWP leaves in
# their memory must be the same to the byte. Wants nested.sh and tally.sh. DIFF_ARGS: more words for the programs,
# as "spin=100 interval=500" (see guest-tests/flat/tests/diff.c).

# diff_flat ARG...: flatrun's command line for the programs
diff_flat()
{
	flat_command=("$HOST/guest-tests/flat/flatrun" --qemu "${VLWP_QEMU:-$BUILD/qemu/qemu-system-x86_64}"
		--firmware "$FIRMWARE" --only diff --verbose "$@")
}

# diff_records FILE: of each program the number, ring, block, head and missed events
diff_records()
{
	sed -n 's/.*dump program \([0-9]*\): \(ring [0-9a-f]* block [0-9a-f]*\) .* \(head .*\)/program \1 \2 \3/p' "$1" |
		tr -d '\r'
}

# diff_run SEED FIRST COUNT NAME: run them in both; the outputs are $RUN/NAME-tcg.log and $RUN/NAME/log, where
# nested-trace also leaves what it saw
diff_run()
{
	local args="seed=$1 first=$2 count=$3${DIFF_ARGS:+ $DIFF_ARGS}" name=$4

	diff_flat --accel tcg --timeout-factor 10 --args "$args"
	"${flat_command[@]}" >"$RUN/$name-tcg.log" 2>&1 || {
		tail -n 20 "$RUN/$name-tcg.log"
		return 1
	}
	diff_flat --accel kvm --timeout-factor 100 --args "$args"
	in_l1 "$name" "$LAB/nested-trace" "${flat_command[@]}" || {
		tail -n 20 "$RUN/$name/log"
		return 1
	}
}

# diff_programs SEED FIRST COUNT: run them in both and compare; the histogram, then what differs
diff_programs()
{
	local same

	diff_run "$1" "$2" "$3" diff || return 1
	sed -n 's/^ *# *\([0-9]\+ .*\)/\1/p' "$RUN/diff-tcg.log" | paste -sd, | sed 's/,/, /g' | fold -sw 100
	diff_records "$RUN/diff-tcg.log" >"$RUN/diff-tcg"
	diff_records "$RUN/diff/log" >"$RUN/diff-kvm"
	same=$(comm -12 <(sort "$RUN/diff-tcg") <(sort "$RUN/diff-kvm") | wc -l)
	echo "$same of $3 programs leave the same ring and block; seed $1, from number $2"
	((same == $3)) && return
	diff "$RUN/diff-tcg" "$RUN/diff-kvm" | head -n 20
	echo "replay program N alone: lab/soak-diff $1 N 1"
	return 1
}

# diff_counted SEED FIRST COUNT NAME PERMILLE: the same with a counter that interrupts late. Records that KVM says it
# delivered late may differ; at most PERMILLE of a thousand may be late. The counter must have been used.
diff_counted()
{
	local status=0 reads

	DIFF_ARGS+=" records=1" diff_run "$1" "$2" "$3" "$4" || return 1
	"$HOST/lab/late-records" "$RUN/$4-tcg.log" "$RUN/$4/log" "$RUN/$4/share/overshoots" "$5" || status=1
	reads=$(<"$RUN/$4/share/reads")
	echo "seed $1, from number $2; the counter was read $reads times"
	((!status && reads > $3))
}
