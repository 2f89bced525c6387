# SPDX-License-Identifier: GPL-2.0-or-later
"""Every flat test with its memory in a device, under breakpoints, at the end of RAM, and in pages that another
processor writes (lab/tests/flat/test_places.py)."""

import argparse

from lab.start import deps
from lab.start.pytest_part import PARTS, add_options as add_pytest_options


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="ROW@PLACE, a part of it or a pattern; default all")
    add_pytest_options(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    passed, failed, skipped = PARTS["flat"].run(args.names, args, "-m", "soak", "-k", "test_place")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return int(failed != 0 or not passed)
