# SPDX-License-Identifier: GPL-2.0-or-later
"""Downtime and total time of a live migration, with and without LWP."""

import argparse
import json
import re
import tempfile
from pathlib import Path

from lab.common import proc
from lab.common.options import number
from lab.common.report import CLOSING, tee
from lab.common.say import Died
from lab.common.steps import jobs_count
from lab.migrate import runs
from lab.start import deps

MOST = 50
ROW = re.compile(r"^(\S.*?) +(\d+) +([\d.]+) +(\d+) +([\d.]+)$", re.MULTILINE)
COLUMNS = ("guest", "downtime_ms", "downtime_ratio", "total_ms", "total_ratio")
TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument(
        "turns", nargs="?", type=number(1, MOST), default=5, metavar="TURNS",
        help=f"1 to {MOST} (default 5)",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def rows_of(text: str) -> list[dict[str, str | float]]:
    """The rows of the table that migratetest prints."""
    return [{COLUMNS[0]: row[0], **dict(zip(COLUMNS[1:], map(float, row[1:])))} for row in ROW.findall(text)]


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    runs.prepare()
    with tempfile.TemporaryDirectory(prefix="vlwp-migrate.") as name:
        work, out = Path(name), Path(name, "out")
        command = runs.command("bench", work, jobs_count(), f"--count={args.turns}")
        if args.json:
            with out.open("w", encoding="utf-8") as log:
                status = proc.call(command, stdout=log)
        else:
            status = tee(command, out)
        text = out.read_text(encoding="utf-8")
    if not CLOSING.search(text):
        raise Died(f"bench migrate: migratetest ended with status {status}")
    if args.json:
        print(json.dumps({"turns": args.turns, "passed": status == 0, "guests": rows_of(text)}, indent=2))
    return status
