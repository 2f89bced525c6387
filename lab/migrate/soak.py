# SPDX-License-Identifier: GPL-2.0-or-later
"""What `test migrate` does, ten times as much: all of it (two hours and more), or the named tests."""

import argparse

from lab.start.pytest_part import PARTS, add_options as add_pytest_options

SCALE = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="as ./vlwp test migrate --list has them; default all")
    add_pytest_options(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    return PARTS["migrate"].soak(args.names, args, "-m", "soak or not soak", f"--scale={SCALE}")
