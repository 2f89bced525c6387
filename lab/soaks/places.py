# SPDX-License-Identifier: GPL-2.0-or-later
"""Every flat test with its memory in a device, under breakpoints, at the end of RAM, and in pages that another
processor writes (lab/tests/flat/test_places.py)."""

import argparse

from lab.start.pytest_part import PARTS, add_options as add_pytest_options


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="ROW@PLACE, a part of it or a pattern; default all")
    add_pytest_options(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    return PARTS["flat"].soak(args.names, args, "-m", "soak", "-k", "test_place")
