# SPDX-License-Identifier: GPL-2.0-or-later
"""The flat suite under KVM in the nested lab, whole: with each instruction stepped, and with performance counters.
`./vlwp test kvm` runs a part of the second, drawn by lot. The slowest rows are named at the end."""

import argparse
import fnmatch
import re
from pathlib import Path

from lab.common.report import Report
from lab.common.say import Usage, say
from lab.guest.vm import run_directory
from lab.nested import flat, l1, skid
from lab.nested.l1 import L1
from lab.soaks.skid import ROWS
from lab.start import deps

SHOWN = 10
TIMED = re.compile(r"^\w+ +(\w+) \(\d+ points, ([\d.]+) s\)", re.MULTILINE)
WAYS = ("step", "pmu")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument(
        "words", nargs="*", metavar="WAY|ROW",
        help=f"{' or '.join(WAYS)} (default: both); rows, or patterns of their names (default: all)",
    )


def _slowest(report: Report, log: Path) -> None:
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    found = sorted(((float(seconds), name) for name, seconds in TIMED.findall(text)), reverse=True)
    total = sum(seconds for seconds, _ in found)
    slowest = ", ".join(f"{name} {seconds:.0f}" for seconds, name in found[:SHOWN])
    report.line(f"{len(found)} rows in {total:.0f} s; the slowest: {slowest}")


def main(args: argparse.Namespace) -> int:
    """The command."""
    ways = [word for word in args.words if word in WAYS] or list(WAYS)
    rows = [word for word in args.words if word not in WAYS]
    deps.ensure()
    l1.prepare()
    for row in rows:
        if not fnmatch.filter(flat.offered(), row):
            raise Usage(f"soak flat-kvm: no row '{row}' that KVM runs; './vlwp test flat --list' names them")
    counted = skid.SKIDS["0"]
    with run_directory() as run:
        report = Report(run)
        for way in ways:
            say(f"the flat suite under KVM: {way} ...")
            if way == "step":
                flat.run(run, rows, L1())
                flat.results(report, "flat suite, stepped", run / "flat/log")
                _slowest(report, run / "flat/log")
            else:
                skid.run_flat(run, counted, rows or ROWS, L1())
                skid.flat_results(report, counted)
                _slowest(report, run / f"{counted.directory}-flat/log")
        return report.end()
