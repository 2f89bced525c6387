# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts beside those of another run, which `count --save=FILE` has kept: docs/case-counts.md has the format."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.common.say import Died

SCHEMA = "vlwp-count-1"


@dataclass(frozen=True)
class Baseline:
    """Totals by event, and the machine that they are of; "": another guest."""

    total: Mapping[str, int]
    machine: str


def read(file: Path) -> Baseline:
    """Whatever is wrong with it is one line."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        total, machine = found["runs"][0], found.get("machine", "")
        if found["schema"] != SCHEMA or not all(type(count) is int and count >= 0 for count in total.values()):
            raise ValueError("other numbers")
    except OSError as err:
        raise Died(f"{file}: cannot read this baseline: {err.strerror}") from err
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as err:
        raise Died(f"{file}: no counts of ./vlwp count --save={file}") from err
    return Baseline(total, str(machine))


def change(before: int, now: int) -> float:
    """In percent."""
    return 100 * (now - before) / before if before else float(now > 0) * 100


def grown(baseline: Baseline, total: Mapping[str, int], threshold: float) -> list[str]:
    """A line for each event that was counted more often than a change of so many percent allows."""
    both = [(event, baseline.total[event], now) for event, now in total.items() if event in baseline.total]
    return [
        f"{event}: {now} are {now - before} more than {before} ({change(before, now):+.4f}%)"
        for event, before, now in both if now > before and change(before, now) > threshold
    ]


def other_machine(baseline: Baseline, machine: str) -> str:
    """What to say if the machine is not the same; the files may be others."""
    theirs, ours = (name.partition(", files")[0] for name in (baseline.machine, machine))
    different = f"the baseline is of another machine: {theirs or 'no count-1'}, not {ours or 'this'}"
    return "" if theirs == ours else different


def markdown(names: Sequence[str], rows: Mapping[str, Sequence[Any]], machine: str) -> str:
    """A table for a page of a CI."""
    lines = [["", *names], ["---", *["---:"] * len(names)], *([name, *map(str, row)] for name, row in rows.items())]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), *(["", f"`{machine}`"] if machine else [])])
