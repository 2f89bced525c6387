# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of perl, sqlite3, xz, python3 and gcc beside callgrind's: the ranks of the hottest 20 functions, and all
instructions; and whether the intervals of windows hold."""

import argparse
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.common import proc
from lab.common.places import TOP
from lab.common.report import Check, Report
from lab.soaks import in_guests, judged_windows
from lab.testing import judged


SQL = """CREATE TABLE t(a INTEGER PRIMARY KEY, b, c);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
INSERT INTO t SELECT i, i * 7919 % 1009, hex(i * i) FROM n;
CREATE INDEX x ON t(b);
SELECT b, count(*), sum(length(c)) FROM t GROUP BY b ORDER BY 3 DESC, 1 LIMIT 5;
SELECT count(*) FROM t AS x JOIN t AS y ON x.b = y.b WHERE x.a < 300;"""
PYTHON = """import json
words = {}
for i in range(2500):
    words.setdefault(str(i * 7919 % 997), []).append([i, hex(i), i / 7])
text = json.dumps(sorted(words.items()))
print(len(json.loads(text)), sum(map(len, text.split(","))))"""
C_SOURCES = ("vmcb/lwp_record.c", "vmcb/lwp_names.c")


def _sqlite(_check: Check) -> judged.Subject:
    return judged.Subject("sqlite3", ("/usr/bin/sqlite3", "-batch", ":memory:", SQL))


def _xz(check: Check) -> judged.Subject:
    """A file whose content is the same everywhere."""
    text = check.work / "text"
    text.write_bytes(b"".join(b"%d %x\n" % (i * i % 7919, i * 104729) for i in range(6000)))
    return judged.Subject("xz", ("/usr/bin/xz", "-6", "-T1", "-c", str(text)))


def _python(_check: Check) -> judged.Subject:
    # The name of the file, not of the link: what the kernel calls the thread.
    # callgrind itself counts 2% more or less from run to run: addresses of objects are in its hashes.
    words = (str(Path("/usr/bin/python3").resolve()), "-S", "-s", "-c", PYTHON)
    return judged.Subject("python3", words, totals=0.02)


def _gcc(check: Check) -> judged.Subject:
    """The compiler itself, without its driver: one process."""
    compiler = proc.output(["gcc", "-print-prog-name=cc1"]).strip()
    source = check.work / "source.i"
    # Without the headers of this machine's packages it is the same in the guest.
    command: list[proc.Word] = ["gcc", "-E", "-P", f"-I{TOP}/vmcb", TOP / C_SOURCES[0]]
    source.write_bytes(subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True).stdout)
    return judged.Subject("gcc", (compiler, "-quiet", "-fpreprocessed", "-O2", str(source), "-o", "/dev/null"))


SUBJECTS: Sequence[tuple[str, Callable[[Check], judged.Subject]]] = (
    ("perl", lambda check: judged.SUBJECTS[0]), ("sqlite3", _sqlite), ("xz", _xz), ("python3", _python), ("gcc", _gcc),
)


WINDOWS = "windows"
OF_WINDOWS = ("perl", "sqlite3", "xz", "python3")


def _windows(report: Report) -> None:
    found: list[judged_windows.Interval] = []
    for name, subject in SUBJECTS:
        if name in OF_WINDOWS:
            report.check(
                f"{name}: the true share lies in the interval of windows in 92 to 98% of profiles",
                lambda check, make: judged_windows.program(
                    check, judged_windows.trace(check, make(check)), found, report
                ),
                subject,
            )
    report.check("the same for each tenth of the shares", lambda check: judged_windows.tenths(check, found, report))


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    in_guests.add_names(parser, "subjects", [*(name for name, _ in SUBJECTS), WINDOWS])


def main(args: argparse.Namespace) -> int:
    """The command."""
    with in_guests.prepared() as report:
        for name, subject in SUBJECTS:
            if args.subjects and name not in args.subjects:
                continue
            missing = [tool for tool in ("valgrind", name) if not shutil.which(tool)]
            if missing:
                report.skip(f"{name}: there is no {', '.join(missing)}")
                continue
            report.check(
                f"{name}: functions in callgrind's order, and as many instructions",
                lambda check, make: judged.holds(check, make(check), report), subject,
            )
        if not args.subjects or WINDOWS in args.subjects:
            _windows(report)
        return report.end()
