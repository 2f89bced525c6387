# SPDX-License-Identifier: GPL-2.0-or-later
"""What `test migrate` does, ten times as much: all PARTs (two hours and more), or the named ones."""

import argparse
import tempfile
import time
from pathlib import Path

from lab.common.options import number
from lab.common.report import Report
from lab.migrate.runs import RUNS, execute, prepare
from lab.start import deps
from lab.testing import seeds

NAMES = [run.name for run in RUNS]


def _part(text: str) -> str:
    if text not in NAMES:
        raise argparse.ArgumentTypeError(f"no part '{text}'; there are: {' '.join(NAMES)}")
    return text


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("parts", nargs="*", type=_part, metavar="PART", help=" ".join(NAMES))
    parser.add_argument(
        "--seed", type=number(0, 2**64 - 1, "a seed"), metavar="N",
        help="repeat the draws of a run that printed this seed",
    )


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    prepare()
    with tempfile.TemporaryDirectory(prefix="vlwp-migrate.") as work:
        report = Report(Path(work))
        for name in args.parts or NAMES:
            run = next(run for run in RUNS if run.name == name)
            begin = time.monotonic()
            seed = seeds.draw() if args.seed is None else args.seed
            execute(run, report, run.soak, seed)
            report.line(f"{name}: {time.monotonic() - begin:.0f} s", 8)
        return report.end()
