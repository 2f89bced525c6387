# SPDX-License-Identifier: GPL-2.0-or-later
"""Keep what PROGRAM needs, its command, environment, directory and standard input in one file, a capsule: with it
run, count and shell --capsule=FILE do the same on each machine. PROGRAM runs once for it."""

import argparse
from pathlib import Path

from lab.common.say import Usage
from lab.guest import count1, frozen
from lab.guest.files import copy, writable
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.nested import machine

TAKES_PROGRAM = "program"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", dest="output", type=Path, required=True, metavar="FILE", help="the capsule")
    machine.add_files(parser)
    machine.without_options(parser)
    parser.set_defaults(machine=count1.Count1(), capsule=None)
    parser.epilog = (
        "The file is a tar archive, which 'tar tf' lists: what the program has opened or looked for while lwprun "
        "profiled it, lwprun, and capsule.json."
    )


def main(args: argparse.Namespace) -> int:
    if not args.program:
        raise Usage("freeze what? Give a program after --")
    guest = machine.from_options(args)
    assert guest.frozen
    writable(args.output)
    machine.prepare(guest)
    with run_directory() as run:
        profiled = [guest.lwprun, "--quiet", "-o", f"{GUEST_SHARE}/lwp.data", "--", *args.program]
        copy(frozen.keep(guest.frozen, guest.root, run, profiled, args.program), args.output)
    return 0
