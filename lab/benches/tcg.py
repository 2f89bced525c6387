# SPDX-License-Identifier: GPL-2.0-or-later
"""What LWP costs under TCG: the CPU time of one load on unpatched QEMU, patched, LWP off, armed at intervals from
1,000,000 to 100, with a record of each branch, with data cache misses, with performance counters, and beside QEMU's
own plugins that count instructions and model caches; of 10,000 loops, with records in 64 of them and in all; of one
under -icount; of stores beside code; of 1, 2 and 4 vCPUs that write code and execute it, with how often one had to
run alone; of switches between 1, 100 and 1,000 profiled threads; and of programs in a Linux guest, of which one
switches between 2 and 1,000 profiled threads."""

import argparse

from lab.benches import tcg_flat, tcg_linux
from lab.benches.output import Value, add_json_option, print_json
from lab.benches.ratios import show
from lab.building import qemu, tools, deps
from lab.common.options import number

TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--turns", type=number(1, 1000), metavar="N", default=7,
        help="how often each is measured, in turns (default 7); the median counts, least and greatest ratio are shown",
    )
    parser.add_argument(
        "--rounds", type=number(1, 1000000), metavar="N", default=tcg_flat.ROUNDS,
        help="how long the bare guest's load is (default %(default)s)",
    )
    parser.add_argument("--guest", choices=("bare", "linux"), help="only the loads of this guest (default both)")
    parser.add_argument(
        "--only", metavar="TEXT", default="",
        help="of the bare guest only the configurations whose names have this text, and what they are compared with",
    )
    add_json_option(parser)


def main(args: argparse.Namespace) -> None:
    deps.ensure()
    tools.build()
    qemu.ensure()
    qemu.build("base")
    measured: list[dict[str, Value]] = []
    if args.guest != "linux":
        measured += _told(tcg_flat.TITLE, tcg_flat.measure(args.turns, args.rounds, args.only), args)
    if args.guest != "bare":
        measured += _told(tcg_linux.TITLE, tcg_linux.measure(args.turns), args)
    if args.json:
        print_json("tcg", measured)


def _told(title: str, rows: list[dict[str, Value]], args: argparse.Namespace) -> list[dict[str, Value]]:
    if not args.json:
        show(title, rows)
    return rows
