# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of programs of Debian beside callgrind's: the ranks of the hottest 20 functions, and all instructions.

And do the intervals that lwpctl prints of windows hold: is the true share in 95 of 100? A complete trace of a program
is recorded, the profiles are those that lwprun would have made of it, by its own choice of windows (resample), and the
intervals are those of lwpctl report. The truth is the share in the trace."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from lab.common import proc
from lab.common.places import LINUX_PROGRAMS, LWPCTL, TOP
from lab.tests.conftest import good
from lab.tests.linux.judged import TOP_FUNCTIONS, Subject, holds
from lab.tests.linux.tools import VLWP
from lab.tests.plugin import Tell

# Little of it is in the C library.
PERL = r"""for my $i (1 .. 20000) { $s = ($s * 31 + $i) % 65521; $w{$s % 700} += $i & 7; $n++ if $i =~ /7\d*3/;
$l[$i % 900] = $s ^ $i } @l = sort { $a <=> $b or $i <=> $j } @l; print "$n $l[77] ", scalar keys %w"""
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


def perl(_work: Path) -> Subject:
    """A program of a line."""
    return Subject(("/usr/bin/perl", "-e", PERL))


def sqlite(_work: Path) -> Subject:
    """A table in memory."""
    return Subject(("/usr/bin/sqlite3", "-batch", ":memory:", SQL))


def xz(work: Path) -> Subject:
    """A file whose content is the same everywhere."""
    text = work / "text"
    text.write_bytes(b"".join(b"%d %x\n" % (i * i % 7919, i * 104729) for i in range(6000)))
    return Subject(("/usr/bin/xz", "-6", "-T1", "-c", str(text)))


def python(_work: Path) -> Subject:
    """The name is that of the file, not of the link: what the kernel calls the thread. callgrind itself counts 2% more
    or less from run to run: addresses of objects are in its hashes."""
    return Subject((str(Path("/usr/bin/python3").resolve()), "-S", "-s", "-c", PYTHON), totals=0.02)


def gcc(work: Path) -> Subject:
    """The compiler itself, without its driver: one process. Its source has no headers of this machine's packages, so
    that it is the same in the guest."""
    compiler, source = proc.output(["gcc", "-print-prog-name=cc1"]).strip(), work / "source.i"
    source.write_text(proc.output(["gcc", "-E", "-P", f"-I{TOP}/vmcb", TOP / "vmcb/lwp_record.c"]), encoding="utf-8")
    return Subject((compiler, "-quiet", "-fpreprocessed", "-O2", str(source), "-o", "/dev/null"))


Make = Callable[[Path], Subject]
SUBJECTS: dict[str, Make] = {"perl": perl, "sqlite3": sqlite, "xz": xz, "python3": python, "gcc": gcc}


@pytest.mark.long
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.soak] if name != "perl" else []) for name in SUBJECTS
])
def test_judged(name: str, tmp_path: Path, tell: Tell) -> None:
    """The functions of a profile are in callgrind's order, and there are as many instructions."""
    for tool in ("valgrind", name):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool}")
    holds(SUBJECTS[name](tmp_path), tmp_path, tell)


WINDOW, EVERY = 128, 10240  # lwprun's defaults
INTERVALS = 1000  # of a program
LOW, HIGH = 0.92, 0.98
# A complete trace has 32 bytes for each branch: what makes the programs shorter.
SHORTER = {
    "perl": ("1 .. 20000", "1 .. 4000"),
    "sqlite3": ("i < 6000", "i < 1500"),
    "xz": ("", ""),
    "python3": ("range(2500)", "range(1000)"),
}

Rows = dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Interval:
    """One that was printed, and the truth."""

    share: float
    low: float
    high: float

    def holds(self) -> bool:
        """Is the truth in it? Both are sums of rounded numbers."""
        return self.low - 1e-12 <= self.share <= self.high + 1e-12


def rows_of(data: Path) -> Rows:
    """What lwpctl reports of each function."""
    options = ["--json", "--no-lines", "--limit=0", "--by=symbol,object"]
    (event,) = json.loads(proc.output([LWPCTL, "report", *options, data]))["events"]
    return {(row["symbol"], row["object"]): row for row in event["rows"]}


def intervals(data: Path, sample: Path) -> Iterator[Interval]:
    """Those of the truly hottest functions of a trace, of one profile after the other."""
    truth = rows_of(data)
    assert all(row["share_low"] == row["share_high"] for row in truth.values()), "the trace is not complete"
    shares = {key: float(row["share"]) for key, row in truth.items()}
    hottest = sorted(shares, key=lambda key: -shares[key])[:TOP_FUNCTIONS]
    assert len(hottest) == TOP_FUNCTIONS, "it has too few functions"
    for seed in range(1, INTERVALS):
        proc.output([LINUX_PROGRAMS / "resample", data, str(WINDOW), str(EVERY), str(seed), sample])
        rows = rows_of(sample)
        for key in hottest:
            if key in rows:  # what no window has is not printed
                yield Interval(shares[key], rows[key]["share_low"], rows[key]["share_high"])


def coverage(found: Sequence[Interval]) -> float:
    """How many of them hold."""
    return sum(interval.holds() for interval in found) / len(found)


@pytest.fixture(scope="module")
def found() -> list[Interval]:
    """Of all programs."""
    return []


@pytest.mark.soak
@pytest.mark.xdist_group("intervals")
@pytest.mark.parametrize("name", SHORTER)
def test_windows_intervals(name: str, found: list[Interval], tmp_path: Path, tell: Tell) -> None:
    """The true share lies in the interval of windows in 92 to 98% of profiles."""
    data, (long, short) = tmp_path / "trace", SHORTER[name]
    words = [word.replace(long, short) for word in SUBJECTS[name](tmp_path).words]
    good([VLWP, "run", "--lwprun=--windows=all", f"--data={data}", "--report-file=/dev/null", "--", *words])
    mine = list(islice(intervals(data, tmp_path / "sample"), INTERVALS))
    found += mine
    tell(f"{name}: {coverage(mine):.1%} of {len(mine)} intervals hold")
    assert len(mine) == INTERVALS
    assert LOW <= coverage(mine) <= HIGH


@pytest.mark.soak
@pytest.mark.xdist_group("intervals")
def test_windows_tenths(found: list[Interval], tell: Tell) -> None:
    """They do so for each tenth of the shares, for rare functions, too."""
    ordered = sorted(found, key=lambda interval: interval.share)
    assert ordered, "there are no intervals"
    for i in range(10):
        part = ordered[i * len(ordered) // 10:(i + 1) * len(ordered) // 10]
        tell(f"shares of {part[0].share:.2%} to {part[-1].share:.2%}: {coverage(part):.1%} hold")
        assert LOW <= coverage(part) <= HIGH, f"of tenth {i + 1} {coverage(part):.1%} hold"
