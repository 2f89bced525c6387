# SPDX-License-Identifier: GPL-2.0-or-later
"""A shell, or one command, in an LWP guest; its output and exit status come back. Ctrl-] ends a guest that has the
terminal."""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from lab.common.say import Usage
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.nested import machine

TAKES_PROGRAM = "command"
TAKES_BASE = True
SHELL = ("/bin/bash", "-i")

# Of --pmu: all counters of AMD's, those of a guest under KVM, those of another model.
COUNTERS = {
    "tcg": "pmu=on,+perfctr-core,+perfmon-v2,+amd-lbr-v2,+amd-lbr-pmc-freeze,+ibs,+ibs-cache",
    "kvm": "pmu=on,+perfctr-core",
}
OTHER_COUNTERS = "pmu=on"

# The guest's root is under an overlay, so the directory of --rw is mounted over what is seen of it there.
WRITABLE = """
mkdir -p "$1" && mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 work "$1" && cd "$1" && shift && exec "$@"
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    machine.add_options(parser)
    parser.add_argument(
        "--model",
        default=machine.LWP_MODEL,
        metavar="NAME",
        help=f"its CPU model under TCG (default {machine.LWP_MODEL}, with LWP; the others have none)",
    )
    parser.add_argument(
        "--pmu", action="store_true",
        help="one processor with performance counters, last branches and IBS (docs/pmu.md); count-1 always has them",
    )
    parser.add_argument(
        "--share", type=Path, metavar="DIR", help=f"what the command leaves in {GUEST_SHARE} is copied to DIR"
    )
    parser.add_argument(
        "--rw", action="store_true", help="what the command writes in the working directory stays here, as yours"
    )


def _add_counters(args: argparse.Namespace) -> None:
    """What --pmu stands for; the user's own properties come after it."""
    if args.machine or args.capsule:  # count-1 has counters
        return
    own = COUNTERS[args.accel] if args.model == machine.LWP_MODEL else OTHER_COUNTERS
    args.cpu, args.smp = ",".join(filter(None, [own, args.cpu])), args.smp or 1  # with one it boots sooner


def _writable(guest: machine.Machine) -> Path:
    """The directory of --rw."""
    if guest.frozen or guest.in_lab:
        raise Usage("--rw is for a guest that sees this machine's files: not with --machine, --capsule or the lab")
    if Path.cwd() == Path("/"):
        raise Usage("--rw: the working directory is /, which it only reads: change to another")
    return Path.cwd()


def _command(guest: machine.Machine, program: Sequence[str]) -> list[str]:
    words = list(program or SHELL)
    return ["/bin/sh", "-c", WRITABLE, "-", str(guest.writable), *words] if guest.writable else words


def main(args: argparse.Namespace) -> int:
    if args.pmu:
        _add_counters(args)
    guest = machine.from_options(args, checked=False)  # a shell says so itself
    guest.model = args.model
    guest.asked += [f"--model={guest.model}"] if guest.model != machine.LWP_MODEL else []
    if guest.model != machine.LWP_MODEL and guest.accel != "tcg":
        raise Usage("--model is for TCG: use it without --accel=kvm")
    if guest.frozen and (not args.program or guest.model != machine.LWP_MODEL):
        raise Usage("--machine takes a command after --, and no --model: nothing is typed into it")
    if args.rw:
        guest.writable = _writable(guest)
    machine.prepare(guest)
    with run_directory() as run:
        status = machine.boot(guest, run, _command(guest, args.program))
        if args.share:
            shutil.copytree(run / "share", args.share, dirs_exist_ok=True)
    return status
