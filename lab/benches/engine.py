# SPDX-License-Identifier: GPL-2.0-or-later
"""What counting and storing cost in the engine itself, in ns and beside a copy of 32 bytes."""

import argparse

from lab.benches.output import add_json_option, show
from lab.building import tools, deps
from lab.common.places import HOST

ROW = r"^(?P<what>.*?) {2,}(?P<ns>[0-9.]+) ns +(?P<ratio>[0-9.]+)$"


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    tools.build()
    return show("engine", [HOST / "kvm/engine/bench/bench-engine"], ROW, args.json)
