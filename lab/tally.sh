# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Counting for the parts of the test: one line a check, the sums into $VLWP_TALLY at the end.

PASSED=0
FAILED=0
SKIPPED=0

ok()
{
	PASSED=$((PASSED + 1))
	echo "ok      $*"
}

not_ok()
{
	FAILED=$((FAILED + 1))
	echo "FAILED  $*"
}

skipped()
{
	SKIPPED=$((SKIPPED + 1))
	echo "skipped $*"
}

# check NAME COMMAND...: one check; the end of the command's output is shown when it fails
check()
{
	local name=$1 log=$BUILD/log/check-${1//[^a-zA-Z0-9]/-}
	shift

	make_dir "$BUILD/log"
	if "$@" >"$log" 2>&1 </dev/null; then
		ok "$name"
	else
		not_ok "$name (all output in $log)"
		tail -n 25 -- "$log" | sed 's/^/        /'
	fi
}

# add_counts PASSED FAILED SKIPPED
add_counts()
{
	PASSED=$((PASSED + $1))
	FAILED=$((FAILED + $2))
	SKIPPED=$((SKIPPED + $3))
}

# tally_end: hand over the sums and end
tally_end()
{
	[[ ! ${VLWP_TALLY-} ]] || echo "$PASSED $FAILED $SKIPPED" >"$VLWP_TALLY"
	exit $((FAILED != 0))
}
