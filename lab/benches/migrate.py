# SPDX-License-Identifier: GPL-2.0-or-later
"""Downtime and total time of a live migration over a unix socket, of a guest of 256 MiB that writes the same amount of
memory without LWP, with LWP switched off, and with eight profiled threads, taking turns."""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from lab.building import deps
from lab.common.options import number
from lab.migrate.live import LOADS, downtime
from lab.migrate.machines import Task
from lab.tests.pytest_part import PARTS

MOST = 50
TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "turns", nargs="?", type=number(1, MOST), default=5, metavar="TURNS",
        help=f"1 to {MOST} (default 5)",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def _rows(turns: int) -> list[dict[str, str | float]]:
    """Of each load the medians, and their ratios to the first load's."""
    with tempfile.TemporaryDirectory(prefix="vlwp-migrate.") as work:
        task = Task(Path(work), 0)
        measured = [[downtime(task, load) for load in LOADS] for _ in range(turns)]
    down, total = ([statistics.median(load) for load in zip(*(
        [times[which] for times in turn] for turn in measured))] for which in (0, 1))
    return [
        {"guest": load.name, "downtime_ms": down[at], "downtime_ratio": round(down[at] / down[0], 2),
         "total_ms": total[at], "total_ratio": round(total[at] / total[0], 2)}
        for at, load in enumerate(LOADS)
    ]


def main(args: argparse.Namespace) -> None:
    deps.ensure()
    PARTS["migrate"].prepare()
    rows = _rows(args.turns)
    if args.json:
        print(json.dumps({"turns": args.turns, "guests": rows}, indent=2))
        return
    print(f"live migration over a unix socket, 256 MiB, median of {args.turns} turns\n")
    print(f"{'guest':<24} {'downtime ms':>12} {'ratio':>7} {'total ms':>12} {'ratio':>7}")
    for row in rows:
        print("{guest:<24} {downtime_ms:>12} {downtime_ratio:>7} {total_ms:>12} {total_ratio:>7}".format(**row))
