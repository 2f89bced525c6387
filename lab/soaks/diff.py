# SPDX-License-Identifier: GPL-2.0-or-later
"""Random programs in TCG and KVM, in the nested lab, whose records must not differ."""

import argparse
import sys

from lab.common.options import SEED, number
from lab.common.report import Check, Failure
from lab.guest.vm import run_directory
from lab.nested import diff, l1
from lab.start import deps
from lab.testing import seeds


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument(
        "seed", nargs="?", type=number(0, SEED), metavar="SEED",
        help="of all programs (default: drawn)",
    )
    parser.add_argument(
        "first", nargs="?", type=number(0, SEED), default=0, metavar="FIRST",
        help="number of the first (0)",
    )
    parser.add_argument("count", nargs="?", type=number(0, SEED), default=1000, metavar="COUNT", help="how many (1000)")


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    l1.prepare()
    seed = seeds.draw() if args.seed is None else args.seed
    print(f"diff: seed {seed}", flush=True)
    chosen = diff.Programs(seed, args.first, args.count)
    with run_directory() as run:
        try:
            diff.same_records(Check(sys.stdout, run), chosen, l1.L1(), run / "diff")
        except Failure as failure:
            print(failure, flush=True)
            return 1
    return 0
