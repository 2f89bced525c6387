# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
#
# KVM whose counters interrupt late, with `exact` delivery: how it is tested with each value of pmu-skid. Wants
# nested.sh, tally.sh and diff.sh.

# skid_settings SKID: SKID_MARGIN, parameters of kvm-amd, so that the counter is used; SKID_ARGS, programs and
# intervals that are long beside the margin; SKID_PERMILLE, records that may be late. False: not known.
skid_settings()
{
	case $1 in
	# A fixed skid: a margin that is just enough, see kvm/tests/test_perf.c.
	0) SKID_MARGIN="lwp_margin=2" SKID_ARGS="" SKID_PERMILLE=0 ;;
	500) SKID_MARGIN="lwp_margin=502" SKID_ARGS="spin=100 interval=700" SKID_PERMILLE=0 ;;
	zen2 | zen3) SKID_MARGIN="" SKID_ARGS="spin=600 interval=6000" SKID_PERMILLE=10 ;;
	zen2/16 | zen3/16) SKID_MARGIN="lwp_margin_start=256" SKID_ARGS="spin=100 interval=400" SKID_PERMILLE=10 ;;
	adversarial) SKID_MARGIN="lwp_margin_start=256" SKID_ARGS="spin=300 interval=2000" SKID_PERMILLE=1000 ;;
	*) return 1 ;;
	esac
}

# skid_lab SKID COMMAND...: the nested lab for what COMMAND starts
skid_lab()
{
	local NESTED_CPU=EPYC,pmu=on,pmu-skid=$1 NESTED_KVM_AMD="lwp_source=perf $SKID_MARGIN"
	shift

	"$@"
}

# skid_programs SKID SEED FIRST COUNT
skid_programs()
{
	local SKID_MARGIN SKID_ARGS SKID_PERMILLE DIFF_ARGS

	skid_settings "$1"
	DIFF_ARGS=$SKID_ARGS
	skid_lab "$1" diff_counted "$2" "$3" "$4" "skid-${1/\//-}" "$SKID_PERMILLE"
}

# skid_flat SKID [ROW...]: the flat suite, or rows of it; its output is $RUN/skid-flat-SKID/log
skid_flat()
{
	local SKID_MARGIN SKID_ARGS SKID_PERMILLE skid=$1 row only=()
	shift

	skid_settings "$skid"
	for row; do
		only+=(--only "$row")
	done
	skid_lab "$skid" in_l1 "skid-flat-${skid/\//-}" "$LAB/nested-trace" "$HOST/guest-tests/flat/flatrun" --accel kvm \
		--jobs 1 --timeout-factor 8 --qemu "${VLWP_QEMU:-$BUILD/qemu/qemu-system-x86_64}" \
		--firmware "$FIRMWARE" ${only[@]+"${only[@]}"}
}

# flat_results LOG NAME: count what flatrun found
flat_results()
{
	grep -vE '^(pass|skip)' "$1" | grep -v '^[0-9]* passed' | sed 's/^/        /' || true
	if [[ $(grep -a ' passed, ' "$1" | tail -n 1) =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped ]]; then
		add_counts "${BASH_REMATCH[@]:1}"
		echo "$2: ${BASH_REMATCH[0]}"
	else
		not_ok "$2 ended early"
	fi
}

# skid_flat_results SKID: the same after skid_flat. Where records may be late, as many rows may fail as are.
skid_flat_results()
{
	local SKID_MARGIN SKID_ARGS SKID_PERMILLE dir=$RUN/skid-flat-${1/\//-} name="flat suite, skid $1" late rows

	skid_settings "$1"
	late=$(wc -l <"$dir/share/overshoots") || late=0
	echo "$name: $late overshoots, the counter was read $(cat "$dir/share/reads") times"
	if ((late == 0 || SKID_PERMILLE == 0)); then
		flat_results "$dir/log" "$name"
		((late == 0)) || not_ok "$name: $late overshoots"
		return
	fi
	rows=$(grep -cE '^(FAIL|ERROR)' "$dir/log") || true
	if grep -q ' passed, ' "$dir/log" && ((rows <= late)); then
		ok "$name: $rows rows have seen a late record"
	else
		not_ok "$name: $rows rows fail"
	fi
	grep -vE '^(pass|skip)' "$dir/log" | sed 's/^/        /' || true
}
