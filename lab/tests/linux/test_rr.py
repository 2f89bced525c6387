# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's rr in a guest with counters: it records programs and replays them, which takes counters that are exact and
interrupt in time."""

import pytest

from lab.common.rows import late
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP

COUNTERS = "--cpu=pmu=on,+perfctr-core"
# Options of ./vlwp shell: AMD's counters, interrupts as late as on Zen 2, and Intel's counters.
RUNS = {
    "amd": [COUNTERS], "zen2": [COUNTERS, f"--pmu-row={late('zen2')}"],
    "intel": ["--model=Skylake-Client", "--cpu=pmu=on"],
}
PROGRAMS = (
    "ls /usr",
    "perl -e '$n += $_ * $_ for 1..20000; print \"$n\\n\"'",
    "python3 -S /tmp/threads.py",
    "gcc -O1 -c /tmp/one.c -o /tmp/one.o",
)
SQL = "import sqlite3; d = sqlite3.connect('/tmp/d'); d.execute('create table if not exists t (n)'); " \
    "d.executemany('insert into t values (?)', [(n,) for n in range(500)]); d.commit(); " \
    "print(d.execute('select sum(n) from t').fetchone())"
MORE = (
    "sh -c 'ls /usr/bin | sort -r | head -5 | tr a-z A-Z'",
    f'python3 -S -c "{SQL}; d.close()"',
    "--chaos python3 -S /tmp/threads.py",
    "--chaos sh -c 'for n in 1 2 3; do echo n | cat; done'",
    "sed -n '1~100p' /etc/services",
    "awk 'BEGIN { for (n = 0; n < 50000; n++) s += n; print s }'",
    "grep -rc root /etc/passwd /etc/group",
    "sort -R --random-source=/etc/passwd /etc/services",
    "gzip -9 -c /bin/sed",
    "xz -1 -c /bin/sed",
    "sha256sum /bin/bash /bin/ls",
    "find /usr/share/perl5 -maxdepth 1",
    "sh -c 'trap \"echo caught\" USR1; kill -USR1 $$; echo done'",
    "make --version",
    "git --version",
    "bash -c 'sleep 1 & wait; echo done'",
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


def replayed(name: str, programs: tuple[str, ...]) -> None:
    """rr records and replays programs in a guest with such counters, with the same output."""
    script = ["/bin/sh", "-c", SETUP, "sh", THREADS, ONE]
    text = good([VLWP, "shell", "--memory=2048", *RUNS[name], "--", *script, *programs])
    assert text.count(": recorded and replayed") == len(programs)


def test_rr() -> None:
    """rr replays threads where interrupts come late; docs/case-rr.md has AMD's on time, and Intel's."""
    replayed("zen2", PROGRAMS[1:3])


@pytest.mark.soak
@pytest.mark.parametrize("name", RUNS)
def test_rr_twenty(name: str) -> None:
    """The same with twenty programs."""
    replayed(name, PROGRAMS + MORE)
