# SPDX-License-Identifier: GPL-2.0-or-later
"""Does the true share lie in the interval that lwpctl prints, in 95 of 100 profiles of windows? A complete trace of a
program is recorded, the profiles are those that lwprun would have made of it, by its own choice of windows (resample),
and the intervals are those of lwpctl report. The truth is the share in the trace."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lab.common.places import LINUX_PROGRAMS, LWPCTL, TOP
from lab.common.report import Check, Report
from lab.testing import judged

WINDOW, EVERY = 128, 10240  # lwprun's defaults
INTERVALS = 1000  # of a program
LOW, HIGH = 0.92, 0.98
# A complete trace has 32 bytes for each branch: what makes the programs shorter.
SHORTER = {
    "perl": ("1 .. 20000", "1 .. 4000"),
    "sqlite3": ("i < 6000", "i < 1500"),
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


def _rows(check: Check, data: Path) -> Rows:
    options = ["--json", "--no-lines", "--limit=0", "--by=symbol,object"]
    status, text = check.text([LWPCTL, "report", *options, data])
    check.want(status == 0, f"lwpctl ends with status {status}")
    (event,) = json.loads(text)["events"]
    return {(row["symbol"], row["object"]): row for row in event["rows"]}


def trace(check: Check, subject: judged.Subject) -> Path:
    """The complete trace of a program."""
    data = check.work / f"{subject.name}.trace"
    long, short = SHORTER.get(subject.name, ("", ""))
    words = [word.replace(long, short) for word in subject.words]
    options = ["--lwprun=--windows=all", f"--data={data}", "--report-file=/dev/null"]
    check.run([TOP / "vlwp", "run", *options, "--", *words])
    return data


def intervals(check: Check, data: Path) -> Iterator[Interval]:
    """Those of the truly hottest functions, of one profile after the other."""
    truth = _rows(check, data)
    check.want(all(row["share_low"] == row["share_high"] for row in truth.values()), "the trace is not complete")
    shares = {key: float(row["share"]) for key, row in truth.items()}
    hottest = sorted(shares, key=lambda key: -shares[key])[: judged.TOP_FUNCTIONS]
    check.want(len(hottest) == judged.TOP_FUNCTIONS, "it has too few functions")
    sample = check.work / "sample"
    for seed in range(1, INTERVALS):
        check.run([LINUX_PROGRAMS / "resample", data, str(WINDOW), str(EVERY), str(seed), sample])
        rows = _rows(check, sample)
        for key in hottest:
            if key in rows:  # what no window has is not printed
                yield Interval(shares[key], rows[key]["share_low"], rows[key]["share_high"])


def _coverage(found: Sequence[Interval]) -> float:
    return sum(interval.holds() for interval in found) / len(found)


def program(check: Check, data: Path, found: list[Interval], report: Report) -> None:
    """The intervals of a program hold as often as they say."""
    mine = list(islice(intervals(check, data), INTERVALS))
    found += mine
    share = _coverage(mine)
    report.line(f"{data.stem}: {share:.1%} of {len(mine)} intervals hold", 8)
    check.want(len(mine) == INTERVALS, f"there are {len(mine)} intervals")
    check.want(LOW <= share <= HIGH, f"{share:.1%} hold")


def tenths(check: Check, found: Sequence[Interval], report: Report) -> None:
    """They do so for rare functions, too."""
    ordered = sorted(found, key=lambda interval: interval.share)
    for i in range(10):
        begin, end = i * len(ordered) // 10, (i + 1) * len(ordered) // 10
        part = ordered[begin:end]
        share = _coverage(part)
        report.line(f"shares of {part[0].share:.2%} to {part[-1].share:.2%}: {share:.1%} hold", 8)
        check.want(LOW <= share <= HIGH, f"of tenth {i + 1} {share:.1%} hold")
