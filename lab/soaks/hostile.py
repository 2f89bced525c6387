# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests, hypervisors in guests and user space that do what they can to make LWP write where it must not, in the
nested lab."""

import argparse
from dataclasses import replace

from lab.common.options import number, seed
from lab.common.places import KVM_PROGRAMS
from lab.common.say import Died, say
from lab.guest.vm import run_directory
from lab.nested import l1, programs
from lab.start import deps
from lab.testing import seeds

PROGRAM = "kvm_hostile"


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument(
        "seconds", nargs="?", type=number(1, 10**6, "a time in seconds"), default=600, metavar="SECONDS",
        help="how long (600)",
    )
    parser.add_argument("seed", nargs="?", type=seed, metavar="SEED", help="of the guests (default: drawn)")


def main(args: argparse.Namespace) -> None:
    """The command."""
    deps.ensure()
    l1.prepare()
    seed = seeds.draw() if args.seed is None else args.seed
    say(f"hostile guests for {args.seconds} s, seed {seed} ...")
    lab = replace(programs.run_of(PROGRAM).lab(), limit=None)
    with run_directory() as run:
        status = l1.boot(lab, run, [KVM_PROGRAMS / PROGRAM, str(args.seconds), str(seed)])
    if status:
        raise Died(f"a hostile guest has got through; again with: ./vlwp soak hostile {args.seconds} {seed}")
