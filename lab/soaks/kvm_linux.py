# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile of a program in a Linux guest under KVM, in the nested lab, beside the truth: by steps, and by the PMU
with prompt delivery."""

import argparse

from lab.building import kernel, qemu, tools
from lab.common.options import seed
from lab.common.report import Report
from lab.guest.machine import kvm_has_lwp
from lab.guest.vm import run_directory
from lab.nested import linux_guest
from lab.start import deps
from lab.testing import seeds

WAYS = (("step", "exact"), ("perf", "prompt"))


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("seed", nargs="?", type=seed, metavar="SEED", help="of the program (default: drawn)")


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    tools.build()
    kernel.build()
    qemu.ensure()
    with run_directory() as run:
        report = Report(run)
        seed = str(seeds.draw() if args.seed is None else args.seed)
        report.line(f"workload: seed {seed}")
        for source, delivery in WAYS:
            more = [] if kvm_has_lwp() else [f"--kvm-amd=lwp_source={source}"]
            line = f"counted by {source} with delivery {delivery}: the shares are those of the truth"
            report.check(line, linux_guest.profiled, seed, delivery, more)
        return report.end()
