# SPDX-License-Identifier: GPL-2.0-or-later
"""KVM with counters that interrupt late, in the nested lab: the flat suite and random programs, beside TCG. Records
are the same but for those counted as overshoots: none at 0 and 500, at most 1% with zen2 and zen3."""

import argparse
from functools import partial

from lab.common.beside import beside
from lab.common.options import number, seed
from lab.common.report import Report, log_of
from lab.common.say import say
from lab.guest.vm import run_directory
from lab.nested import diff, l1
from lab.nested import skid as nested
from lab.nested.l1 import L1
from lab.nested.skid import SKIDS, Skid
from lab.start import deps
from lab.testing import seeds

# All rows but leaf_counted, which is of hosts without counters: they offer no clocks.
ROWS = ("[!l]*", "l[!e]*", "leaf", "leaf_[!c]*")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    names = " ".join(SKIDS)
    parser.add_argument(
        "count", nargs="?", type=number(1, 99999), default=1000, metavar="COUNT",
        help="random programs (1000)",
    )
    parser.add_argument("seed", nargs="?", type=seed, metavar="SEED", help="of the programs (default: drawn)")
    parser.add_argument("skids", nargs="*", type=_skid, metavar="SKID", help=f"as in pmu-skid (default: {names})")


def _skid(text: str) -> Skid:
    if text not in SKIDS:
        raise argparse.ArgumentTypeError(f"no settings for '{text}'; there are: {' '.join(SKIDS)}")
    return SKIDS[text]


def _soak(report: Report, skid: Skid, programs: diff.Programs) -> None:
    say(f"interrupts come late: {skid.name}; seed {programs.seed} ...")
    name = f"skid {skid.name}: {programs.count} random programs leave the records of TCG, or say which are late"
    with beside(partial(nested.run_flat, report.work, skid, ROWS, L1())):
        report.check(name, nested.same_programs, skid, programs, L1())
        for line in diff.summaries(log_of(name)):
            report.line(line)
    nested.flat_results(report, skid)


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    l1.prepare()
    seed = seeds.draw() if args.seed is None else args.seed
    with run_directory() as run:
        report = Report(run)
        for skid in args.skids or SKIDS.values():
            _soak(report, skid, diff.Programs(seed, 0, args.count))
        return report.end()
