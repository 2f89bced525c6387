# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What ./vlwp shell promises: output, exit status, directories, and nothing left behind. Sourced by
# test-linux. PLACE is a private directory whose name tells our guests from others.

PLACE=$(mktemp -d "${TMPDIR:-/tmp}/vlwp-boot.XXXXXX")

in_guest()
{
	TMPDIR=$PLACE "$TOP/vlwp" shell -- "$@"
}

# guests: the emulators that run out of PLACE
guests()
{
	grep -lzF "$PLACE" /proc/[0-9]*/cmdline 2>/dev/null | while IFS= read -r file; do
		tr '\0' ' ' <"$file" 2>/dev/null | grep -F qemu-system | grep -vF vmrun
	done
}

streams_and_status()
{
	local status=0

	in_guest /bin/sh -c 'printf out; printf err >&2; exit 37' >"$PLACE/out" 2>"$PLACE/err" || status=$?
	echo "status $status, out '$(<"$PLACE/out")', err '$(<"$PLACE/err")'"
	((status == 37)) && [[ $(<"$PLACE/out") == out && $(<"$PLACE/err") == err ]]
}

death_by_signal()
{
	local status=0

	in_guest /bin/sh -c 'kill -SEGV $$' || status=$?
	echo "status $status"
	((status == 128 + 11))
}

every_byte()
{
	head -c 3000000 /dev/urandom >"$PLACE/in"
	in_guest /bin/cat <"$PLACE/in" >"$PLACE/out"
	cmp "$PLACE/in" "$PLACE/out"
}

arguments_and_place()
{
	local got want

	want=$(printf '%s\n' "$PLACE" "a b" "" $'line\nbreak' 'x$y"z' hello)
	got=$(cd "$PLACE" && VLWP_PROBE=hello in_guest \
		/bin/sh -c 'pwd; printf "%s\n" "$@" "$VLWP_PROBE"' - "a b" "" $'line\nbreak' 'x$y"z')
	echo "$got"
	[[ $got == "$want" ]]
}

host_untouched()
{
	echo kept >"$PLACE/file"
	in_guest /bin/sh -c 'echo changed >file; rm -f out; echo new >other; cat file' >"$PLACE/out2"
	[[ $(<"$PLACE/file") == kept && ! -e $PLACE/other ]]
}

no_such_command()
{
	local status=0 err

	err=$(in_guest /nowhere/program 2>&1) || status=$?
	echo "status $status: $err"
	((status == 127)) && [[ $err == *"/nowhere/program: No such file"* && $err != *$'\n'* ]]
}

bad_property()
{
	local status=0 err

	err=$("$TOP/vlwp" shell --cpu=no-such-property=1 -- true 2>&1) || status=$?
	echo "status $status: $err"
	((status == 1)) && [[ $err == *no-such-property* && $err != *$'\n'* ]]
}

two_at_once()
{
	local first status=0

	in_guest /bin/sh -c 'echo first' >"$PLACE/first" &
	first=$!
	in_guest /bin/sh -c 'echo second' >"$PLACE/second" || status=1
	wait "$first" || status=1
	((!status)) && [[ $(<"$PLACE/first") == first && $(<"$PLACE/second") == second ]]
}

# ends_by SIGNAL: a guest that runs is ended by SIGNAL to ./vlwp; no process and no file stays. The
# guest says when it runs, so nothing here waits for a time.
ends_by()
{
	local pid line

	rm -f "$PLACE/fifo"
	mkfifo "$PLACE/fifo"
	TMPDIR=$PLACE setsid "$TOP/vlwp" shell -- /bin/sh -c 'echo up; exec sleep 1000' >"$PLACE/fifo" 2>/dev/null &
	pid=$!
	read -r line <"$PLACE/fifo"
	[[ $line == up && $(guests) ]] || return 1
	if [[ $1 == INT ]]; then
		kill -INT -- "-$pid" # as a terminal does: to the whole group
	else
		kill -"$1" "$pid"
	fi
	wait "$pid"
	echo "left: $(guests) $(find "$PLACE" -name 'vlwp.*')"
	[[ ! $(guests) && ! $(find "$PLACE" -name 'vlwp.*') ]]
}

check "guest: output, errors and exit status come back apart" streams_and_status
check "guest: death by a signal is 128 and the signal" death_by_signal
check "guest: 3 MB of random bytes go in and come out" every_byte
check "guest: arguments, environment and directory arrive as they are" arguments_and_place
check "guest: what it writes stays in it" host_untouched
check "guest: a command that is not there" no_such_command
check "guest: an unknown CPU property is one line" bad_property
check "guest: two at once" two_at_once
check "guest: Ctrl-C leaves nothing behind" ends_by INT
check "guest: SIGTERM leaves nothing behind" ends_by TERM
rm -rf -- "$PLACE"
