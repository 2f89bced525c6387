# SPDX-License-Identifier: GPL-2.0-or-later
"""What a switch between two profiled threads costs in the table of contexts, against the number of contexts in it."""

import argparse

from lab.benches.output import add_json_option, show
from lab.building import tools, deps
from lab.common.places import HOST

ROW = r"^(?P<what>.*?) {2,}(?P<contexts>[0-9]+) contexts +(?P<ns>[0-9.]+) ns +(?P<per_second>[0-9]+) a second$"


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    add_json_option(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    tools.build()
    return show("contexts", [HOST / "kvm/engine/bench/bench-contexts"], ROW, args.json)
