# SPDX-License-Identifier: GPL-2.0-or-later
"""What the engine itself costs: counting and storing, in ns and beside a copy of 32 bytes; a switch between two
profiled threads in the table of contexts, against the number of contexts in it."""

import argparse

from lab.benches.output import add_json_option, show
from lab.building import tools, deps
from lab.common.places import HOST

NS = r"^(?P<what>.*?) {2,}%s(?P<ns>[0-9.]+) ns +%s$"
ROWS = {
    "engine": NS % ("", "(?P<ratio>[0-9.]+)"),
    "contexts": NS % ("(?P<contexts>[0-9]+) contexts +", "(?P<per_second>[0-9]+) a second"),
}

add_options = add_json_option


def main(args: argparse.Namespace) -> int:
    deps.ensure()
    tools.build()
    return show(args.name, [HOST / f"kvm/engine/bench/bench-{args.name}"], ROWS[args.name], args.json)
