# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's rr in a guest with counters: it records programs and replays them, which takes counters that are exact and
interrupt in time."""

from collections.abc import Sequence

from lab.common.places import TOP
from lab.common.report import Check

COUNTERS = "--cpu=pmu=on,+perfctr-core"
# name, line, options of ./vlwp shell
RUNS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("amd", "rr records and replays programs with AMD's counters", (COUNTERS,)),
    ("zen2", "the same with interrupts as late as on Zen 2", (f"{COUNTERS},pmu-skid=zen2",)),
    ("intel", "the same with Intel's counters", ("--model=Skylake-Client", "--cpu=pmu=on")),
)
PROGRAMS = (
    "ls /usr",
    "perl -e '$n += $_ * $_ for 1..20000; print \"$n\\n\"'",
    "python3 -S /tmp/threads.py",
    "gcc -O1 -c /tmp/one.c -o /tmp/one.o",
)
THREADS = """
import threading
total = [0] * 3
def work(n):
    for i in range(2000):
        total[n] += i
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(total)
"""
ONE = "int twice(int n) { return 2 * n; }"
SETUP = """
echo 1 > /proc/sys/kernel/perf_event_paranoid
export HOME=/tmp PATH=/usr/local/bin:/usr/bin:/bin _RR_TRACE_DIR=/tmp/rr
printf %s "$1" > /tmp/threads.py; printf %s "$2" > /tmp/one.c
shift 2
fail() { echo "$program: $1"; cat /tmp/errors; exit 1; }
for program; do
    exec 2> /tmp/errors
    sh -c "rr record $program" > /tmp/recorded || fail "not recorded"
    rr replay -a > /tmp/replayed || fail "not replayed"
    cmp /tmp/recorded /tmp/replayed || fail "another output"
    echo "$program: recorded and replayed"
done
"""


def replays(check: Check, options: Sequence[str], programs: Sequence[str]) -> None:
    """Record each program, and replay it with the same output."""
    shell = [str(TOP / "vlwp"), "shell", "--smp=2", "--memory=2048", *options]
    status, out = check.text([*shell, "--", "/bin/sh", "-c", SETUP, "sh", THREADS, ONE, *programs])
    check.want(status == 0, f"status {status}")
    check.want(out.count(": recorded and replayed") == len(programs), "not all programs")


def works(check: Check, options: Sequence[str]) -> None:
    """The programs of ./vlwp test linux."""
    replays(check, options, PROGRAMS)
