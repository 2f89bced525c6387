# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of perl, sqlite3, xz, python3 and gcc beside callgrind's: the ranks of the hottest 20 functions,
and all instructions; and whether the intervals of windows hold (lab/tests/linux/test_judged.py)."""

import argparse

from lab.start.pytest_part import PARTS, add_options as add_pytest_options


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="perl, sqlite3, xz, python3, gcc, windows (all)")
    add_pytest_options(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    return PARTS["linux"].soak(args.names, args, "-m", "soak or not soak", "-k", "test_judged.py")
