# SPDX-License-Identifier: GPL-2.0-or-later
"""What LWP costs under TCG: the CPU time of one load on unpatched QEMU, patched, LWP off, armed at intervals from
1,000,000 to 100, with a record of each branch, with data cache misses, with performance counters, and beside QEMU's own
plugins that count instructions and model caches; of stores beside code; of 1, 2 and 4 vCPUs that write code and execute
it, with how often one had to run alone; of switches between 1, 100 and 1,000 profiled
threads; and of programs in a Linux guest, of which one switches between 2 and 1,000 profiled threads."""

import argparse

from lab.benches import tcg_linux
from lab.benches.output import Value, add_json_option, print_json, rows_of
from lab.building import meson, qemu, tools
from lab.common import places, proc
from lab.common.options import number
from lab.common.steps import step
from lab.start import deps

PLUGIN = "tests/tcg/plugins/libinsn.so"
CACHE = "contrib/plugins/libcache.so"
NUMBERS = r" +(?P<ratio>[0-9.]+) +(?P<least>[0-9.]+) +(?P<greatest>[0-9.]+)(?: +(?P<alone>[0-9.]+))?"
ROW = rf"^(?P<configuration>\S.*?) {{2,}}(?P<seconds>[0-9.]+){NUMBERS}$"
TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument(
        "--turns", type=number(1, 1000), metavar="N", default=7,
        help="how often each is measured, in turns (default 7); the median counts, least and greatest ratio are shown",
    )
    parser.add_argument("--rounds", type=number(1, 1000000), metavar="N", help="how long the bare guest's load is")
    parser.add_argument("--guest", choices=("bare", "linux"), help="only the loads of this guest (default both)")
    parser.add_argument(
        "--only", metavar="TEXT",
        help="of the bare guest only the configurations whose names have this text, and what they are compared with",
    )
    add_json_option(parser)


def _flatbench(args: argparse.Namespace) -> list[proc.Word]:
    """The command line that measures bare guests."""
    base = qemu.out_dir("base")
    step("building the plugins to compare with", "bench-plugin", meson.ninja(base, PLUGIN, CACHE))
    command: list[proc.Word] = [places.HOST / "guest-tests/flat/flatbench"]
    command += ["--base", places.qemu_base(), "--patched", places.qemu()]
    command += ["--firmware", places.FIRMWARE, "--image", places.HOST / "guest-tests/flat/flat.elf"]
    command += ["--plugin", base / PLUGIN, "--cache", base / CACHE]
    for name in ("turns", "rounds", "only"):
        if getattr(args, name):
            command += [f"--{name}", str(getattr(args, name))]
    return command


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    tools.build()
    qemu.ensure()
    qemu.build("base")
    rows: list[dict[str, Value]] = []
    if args.guest != "linux":
        command = _flatbench(args)
        if args.json:
            rows += rows_of(proc.output(command), ROW)
        elif proc.call(command):
            return 1
    if args.guest != "bare":
        measured = tcg_linux.measure(args.turns)
        rows += measured
        if not args.json:
            tcg_linux.show(measured)
    if args.json:
        print_json("tcg", rows)
    return 0
