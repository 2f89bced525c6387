# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile of a program in a Linux guest under KVM, in the nested lab, beside the truth: by steps, and by the PMU
with prompt delivery."""

import argparse
import tempfile
from pathlib import Path

from lab.building import tools
from lab.common import proc
from lab.common.options import seed
from lab.common.say import Died
from lab.guest.machine import kvm_has_lwp
from lab.nested import linux_guest
from lab.start import deps
from lab.testing import seeds
from lab.testing.linux import Truth

SIZE = 700  # thousand instructions: enough for 20,000 records of any seed
WAYS = (("step", "exact"), ("perf", "prompt"))


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("seed", nargs="?", type=seed, metavar="SEED", help="of the program (default: drawn)")


def main(args: argparse.Namespace) -> None:
    """The command."""
    deps.ensure()
    tools.build()
    seed = seeds.draw() if args.seed is None else args.seed
    print(f"workload: seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="vlwp-kvm-linux.") as name:
        work = Path(name)
        truth = Truth(work, seed, SIZE)
        if proc.wait(truth.child):
            raise Died((work / "truth.log").read_text(encoding="utf-8", errors="replace").strip())
        for source, delivery in WAYS:
            print(f"counted by: {source} with delivery {delivery}", flush=True)
            more = [] if kvm_has_lwp() else [f"--kvm-amd=lwp_source={source}"]
            options = linux_guest.profile_options(delivery, work / "data", more)
            if proc.call([linux_guest.VLWP, "run", *options, "--", *truth.words]):
                raise Died("the profile failed")
            if proc.call(linux_guest.compare_command(work)):
                raise Died("the shares are not those of the truth")
