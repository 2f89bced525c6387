# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's rr records and replays twenty programs in a guest: with AMD's counters, with late interrupts, and with
Intel's counters (lab/tests/linux/test_rr.py)."""

import argparse

from lab.start.pytest_part import PARTS, add_options as add_pytest_options


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="amd, zen2, intel (all)")
    add_pytest_options(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    return PARTS["linux"].soak(args.names, args, "-m", "soak", "-k", "test_rr")
