# SPDX-License-Identifier: GPL-2.0-or-later
"""A shell, or one command, in an LWP guest; its output and exit status come back. Ctrl-] ends a guest that has the
terminal."""

import argparse

from lab.common.say import Usage
from lab.guest.vm import run_directory
from lab.nested import machine

TAKES_PROGRAM = "command"
TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    machine.add_options(parser)
    parser.add_argument(
        "--model",
        default=machine.LWP_MODEL,
        metavar="NAME",
        help=f"its CPU model under TCG (default {machine.LWP_MODEL}, with LWP; the others have none)",
    )


def main(args: argparse.Namespace) -> int:
    guest = machine.from_options(args, checked=False)  # a shell says so itself
    guest.model = args.model
    guest.asked += [f"--model={guest.model}"] if guest.model != machine.LWP_MODEL else []
    if guest.model != machine.LWP_MODEL and guest.accel != "tcg":
        raise Usage("--model is for TCG: use it without --accel=kvm")
    if guest.frozen and (not args.program or guest.model != machine.LWP_MODEL):
        raise Usage("--machine takes a command after --, and no --model: nothing is typed into it")
    machine.prepare(guest)
    with run_directory() as run:
        return machine.boot(guest, run, args.program or ["/bin/bash", "-i"])
