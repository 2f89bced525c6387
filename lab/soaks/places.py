# SPDX-License-Identifier: GPL-2.0-or-later
"""Every flat test with its memory in a device, under breakpoints, at the end of RAM, and in pages that another
processor writes (lab/testing/placed.py)."""

import argparse
from pathlib import Path

from lab.building import qemu, tools
from lab.common.options import seed
from lab.common.places import temporary
from lab.common.report import Report
from lab.common.say import Usage
from lab.start import deps
from lab.testing import flat, placed
from lab.testing.part import choose


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="ROW@PLACE, a part of it or a pattern; default all")
    parser.add_argument("--seed", type=seed, metavar="N", help="what test flat places printed: its tenth alone")


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    tools.build()
    qemu.ensure()
    every = placed.cases(flat.offered())
    chosen = choose(every if args.seed is None else placed.tenth(every, args.seed), args.names)
    if not chosen:
        raise Usage("soak places: no such row and place; as ire@table or *@ring")
    report = Report(Path(temporary()))
    placed.run(chosen, report)
    return report.end()
