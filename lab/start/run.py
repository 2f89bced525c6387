# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot an LWP guest, profile PROGRAM in it, print its hot spots; without PROGRAM, a bundled one with a known mix of
hot functions."""

import argparse
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE

from lab.building import deps, qemu, tools
from lab.common import places, proc
from lab.common.places import LINUX_PROGRAMS, LWPCTL, LWPRUN, user_name
from lab.common.say import Died, Usage, say
from lab.guest import process
from lab.guest.files import copy, writable
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.nested import machine

TAKES_PROGRAM = "program"
TAKES_BASE = True
WRONG_USAGE = 2  # exit status of lwpctl

# The bundled program is short, so that its truth can be counted instruction by instruction: it wants a short
# interval, and a ring for all records of it.
BUNDLED_OPTIONS = ["--event=instructions:191", "--ring-size=4M"]


def add_options(parser: argparse.ArgumentParser) -> None:
    machine.add_options(parser)
    parser.epilog = (
        f"{parser.epilog} The program is root there. The first Ctrl-C or SIGTERM goes to the program, and its profile "
        "is reported; the second ends the guest, as Ctrl-] does if the guest has the terminal. Exit status: the "
        "program's; 1 if it was not profiled; 130 after Ctrl-C, 143 after SIGTERM."
    )
    parser.add_argument(
        "--lwprun",
        action="append",
        default=[],
        metavar="ARG",
        help="an option for lwprun, which records (may be repeated; see its --help)",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="ARG",
        help="an option for lwpctl report, as --report=--json (may be repeated)",
    )
    parser.add_argument(
        "--report-file", type=Path, metavar="FILE", help="write the report to FILE; the program has the output"
    )
    parser.add_argument(
        "--process", action="store_true",
        help="in a process, not in a guest: starts sooner, twice as fast; static programs are left out "
        "(docs/process.md)",
    )
    parser.add_argument(
        "--live", action="store_true", help="say which command shows the profile in another terminal while it grows"
    )
    parser.add_argument("--data", type=Path, metavar="FILE", help="keep the recorded data in FILE")


def _refuse_options(option: str, words: Sequence[proc.Word]) -> str:
    """Options that a tool does not know end the command before the boot. Result: what it says to the others."""
    child = subprocess.run(words, stdout=DEVNULL, stderr=PIPE, check=False)
    said = child.stderr.decode(errors="replace").partition("\n")[0].removeprefix(f"{Path(words[0]).name}: ")
    if child.returncode == WRONG_USAGE:
        raise Usage(f"--{option}: {said}")
    return said


def _refuse_recording(options: Sequence[str]) -> None:
    """The same for lwprun, which is asked to run a directory; what it runs instead is one of the words."""
    said = _refuse_options("lwprun", [LWPRUN, *options, "--", "/"])
    if not said.startswith("/: "):
        raise Usage(f"--lwprun: '{shlex.join(options)}' are no options that record: {said or 'nothing would run'}")


def _report(command: Sequence[str], path: Path | None) -> bool:
    if not path:
        return proc.call([LWPCTL, *command]) == 0
    with path.open("wb") as out:
        return proc.call([LWPCTL, *command], stdout=out) == 0


def how_ended(status: int) -> str:
    """What an exit status that is not 0 says, as a shell has it."""
    try:
        return f"was ended by {signal.Signals(status - 128).name}"
    except ValueError:
        return f"ended with status {status}"


def recording(guest: machine.Machine, options: Sequence[str], program: Sequence[str]) -> list[str]:
    """What records a program in a guest, in the file lwp.data of its share."""
    return [guest.lwprun, *options, "-o", f"{GUEST_SHARE}/lwp.data", "--", *program]


def _prepare(guest: machine.Machine, in_process: bool) -> None:
    if not in_process:
        machine.prepare(guest)
    elif not places.RELEASE:
        deps.ensure(tests=False)
        tools.build(everything=False)
        qemu.ensure_user()


def _record_process(guest: machine.Machine, options: Sequence[str], words: Sequence[str], run: Path) -> int:
    """Record in a process. Result: the exit status of lwprun."""
    record = [str(LWPRUN), *options, "-o", f"{run}/share/lwp.data", "--", *words]
    argv = process.command(record, run / "messages", "-show-code")
    status, guest.passed = proc.call_passing(argv, as_user=True)
    process.tell(run / "messages")
    return status


def _record(guest: machine.Machine, args: argparse.Namespace, options: list[str], words: list[str], run: Path) -> int:
    """Record in a guest. Result: the exit status of lwprun."""
    if guest.accel == "kvm" and not guest.stats:
        guest.stats = run / "stats"
    memory = "count-1" if guest.frozen else f"{guest.smp} processors, {guest.memory} MiB"
    say(f"booting a guest ({memory}) that sees files as {user_name()} can read them ...")
    if args.live:
        options = ["--live", *options]
        say(f"in another terminal: {LWPCTL} top {run}/share/lwp.data")
    return machine.boot(guest, run, recording(guest, options, words))


def main(args: argparse.Namespace) -> int:
    guest = machine.from_options(args)
    guest.passes = not guest.in_lab and not guest.frozen
    if args.process:
        machine.refuse_guest(args)
    if args.live and args.process:
        raise Usage("--live is for a guest: leave out --process")
    if args.live and guest.frozen:
        raise Usage("--live: what a guest of --machine writes is seen when its program has ended")
    if args.data:
        writable(args.data)
    if args.report_file:
        writable(args.report_file)
    if (args.report or args.lwprun) and not places.RELEASE:
        deps.ensure(tests=False)
        tools.build(everything=False)
    if args.report:
        _refuse_options("report", [LWPCTL, "report", *args.report, "/dev/null"])
    if args.lwprun:
        _refuse_recording(args.lwprun)
    options, profiled = args.lwprun, args.program or [str(LINUX_PROGRAMS / "workload")]
    if not args.program:
        options = options or BUNDLED_OPTIONS
    machine.deliver_windows(guest, options)
    _prepare(guest, args.process)
    with run_directory() as run:
        if args.process:
            status = _record_process(guest, options, profiled, run)
        else:
            status = _record(guest, args, options, profiled, run)
        data = run / "share/lwp.data"
        recorded = data.is_file() and data.stat().st_size
        if guest.passed and not recorded:  # it was too early, or there was a second signal
            return 128 + guest.passed
        if not recorded:
            raise Died(f"nothing was recorded: lwprun ended with status {status}")
        if args.data:
            copy(data, args.data)
        if guest.frozen:
            say(str(guest.frozen))
        name = args.data or ""  # the file in the private directory is nothing to the user
        if not _report(["report", f"--name={name}", *args.report, str(data)], args.report_file):
            return 1
        if guest.accel != "kvm" and any("cycles" in option for option in options):
            print("TCG has no clock cycles: a cycle is an instruction here.", flush=True)
        if guest.accel == "kvm" and guest.stats and guest.stats.is_file():
            print(machine.how_counted(guest.stats), flush=True)
    if status:
        say(f"{profiled[0]} {how_ended(status)}")
    return 128 + guest.passed if guest.passed else status
