# SPDX-License-Identifier: GPL-2.0-or-later
"""Fuzz each target, or those named, for its share of the time; findings stay in build/fuzz/TARGET."""

import argparse
from pathlib import Path

from lab.building import meson
from lab.common.options import number
from lab.common.places import temporary
from lab.common.report import Report
from lab.common.say import Usage, say
from lab.start import deps
from lab.testing import fuzz, seeds


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="as fuzz_guest; default all")
    parser.add_argument(
        "--hours", type=number(1, 9999, "a time in hours"), default=8, metavar="N",
        help="of all together (default 8)",
    )


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    meson.fetch()
    report = Report(Path(temporary()))
    if not report.check("the fuzzers build with clang", fuzz.compile_all):
        return report.end()
    known = fuzz.targets()
    wanted = [target for target in known if not args.targets or fuzz.name_of(target) in args.targets]
    if not wanted or len(wanted) < len(args.targets):
        raise Usage(f"soak fuzz: no such target; there are: {' '.join(map(fuzz.name_of, known))}")
    seconds = args.hours * 3600 // len(wanted)
    say(f"{len(wanted)} targets, {seconds} s each")
    for target in wanted:
        seed = seeds.draw()
        report.check(f"fuzz: {target} for {seconds} s, seed {seed}", fuzz.fresh, target, seconds, seed)
    return report.end()
