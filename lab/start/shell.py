# SPDX-License-Identifier: GPL-2.0-or-later
"""A shell, or one command, in an LWP guest; its output and exit status come back. Ctrl-] ends a guest that has the
terminal."""

import argparse

from lab.guest import machine
from lab.guest.vm import run_directory
from lab.start import deps

TAKES_PROGRAM = "command"


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    machine.add_options(parser)


def main(args: argparse.Namespace) -> int:
    """The command."""
    guest = machine.from_options(args)
    deps.ensure()
    machine.prepare(guest)
    with run_directory() as run:
        return machine.boot(guest, run, args.program or ["/bin/bash", "-i"])
