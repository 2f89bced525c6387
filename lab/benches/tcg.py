# SPDX-License-Identifier: GPL-2.0-or-later
"""What LWP costs under TCG: the CPU time of one load on unpatched QEMU, patched, LWP off, armed, and beside QEMU's own
instruction counting plugin; and the time of stores beside code on unpatched and patched QEMU."""

import argparse

from lab.benches.output import add_json_option, show
from lab.building import meson, qemu, tools
from lab.common import places, proc
from lab.common.options import number
from lab.common.steps import step
from lab.start import deps

PLUGIN = "tests/tcg/plugins/libinsn.so"
ROW = r"^(?P<configuration>\S.*?) {2,}(?P<seconds>[0-9.]+) +(?P<ratio>[0-9.]+)$"


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument(
        "--turns", type=number(1, 1000000), metavar="N",
        help="how often each is measured; the least counts",
    )
    parser.add_argument("--rounds", type=number(1, 1000000), metavar="N", help="how long the load is")
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    tools.build()
    qemu.build()
    qemu.build("base")
    base = qemu.out_dir("base")
    step("building the plugin to compare with", "bench-plugin", meson.ninja(base, PLUGIN))
    command: list[proc.Word] = [places.HOST / "guest-tests/flat/flatbench"]
    command += ["--base", places.qemu_base(), "--patched", places.qemu()]
    command += ["--firmware", places.FIRMWARE, "--image", places.HOST / "guest-tests/flat/flat.elf"]
    command += ["--plugin", base / PLUGIN]
    for name in ("turns", "rounds"):
        if getattr(args, name):
            command += [f"--{name}", str(getattr(args, name))]
    return show("tcg", command, ROW, args.json)
