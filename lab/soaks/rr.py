# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's rr records and replays twenty programs in a guest: with AMD's counters, with late interrupts, and with
Intel's counters."""

import argparse

from lab.soaks import in_guests
from lab.testing import rr

SQL = "import sqlite3; d = sqlite3.connect('/tmp/d'); d.execute('create table if not exists t (n)'); " \
    "d.executemany('insert into t values (?)', [(n,) for n in range(500)]); d.commit(); " \
    "print(d.execute('select sum(n) from t').fetchone())"
PROGRAMS = (
    *rr.PROGRAMS,
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    in_guests.add_names(parser, "runs", [name for name, *_ in rr.RUNS], "RUN")


def main(args: argparse.Namespace) -> int:
    """The command."""
    with in_guests.prepared() as report:
        for name, line, options in rr.RUNS:
            if not args.runs or name in args.runs:
                report.check(f"{line}: {len(PROGRAMS)} programs", rr.replays, options, PROGRAMS)
        return report.end()
