# SPDX-License-Identifier: GPL-2.0-or-later
"""Lua, profiled in a guest without PMU and rebuilt by gcc, clang and BOLT with that profile: instructions and time
before and after, beside the same with an instrumented profile (lab/tests/linux/test_pgo.py)."""

import argparse

from lab.start.pytest_part import PARTS, add_options as add_pytest_options


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="gcc, clang, bolt (all)")
    add_pytest_options(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    return PARTS["linux"].soak(args.names, args, "-m", "soak", "-k", "test_lua")
