# SPDX-License-Identifier: GPL-2.0-or-later
"""Random programs in TCG and KVM, in the nested lab, whose records must not differ."""

import argparse
import re
import sys

from lab.common.report import Check, Failure
from lab.guest.vm import run_directory
from lab.nested import diff, l1
from lab.start import deps
from lab.testing import seeds


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("seed", nargs="?", type=_number, metavar="SEED", help="of all programs (default: drawn)")
    parser.add_argument("first", nargs="?", type=_number, default=0, metavar="FIRST", help="number of the first (0)")
    parser.add_argument("count", nargs="?", type=_number, default=1000, metavar="COUNT", help="how many (1000)")


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at most 9 digits")
    return int(text)


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
