# SPDX-License-Identifier: GPL-2.0-or-later
"""Run count-1 again to the instruction of a sample, and open gdb there. PROFILE is what run --data or perf has written
of a program there; without SAMPLE its samples are listed."""

import argparse
import re
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, CalledProcessError

from lab.common import options, proc, samples
from lab.common.places import HOST
from lab.common.samples import Mapping
from lab.common.say import Died, Usage, say
from lab.guest import capsule, count1, frozen
from lab.guest.reverse import replayed
from lab.guest.sampled import Recorded
from lab.guest.stopped import Stopped, stopped
from lab.guest.vm import run_directory
from lab.nested import machine
from lab.start.run import recording

TAKES_PROGRAM = "program"
TIMER = re.compile(r"divide by (\d+)\).*current_count = (\d+)")  # of the local APIC
HANDLED = 1000  # instructions from a timer's interrupt on
CODE = re.compile(r"^ +LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R.E ", re.MULTILINE)  # of readelf
PAGE = 4096
MORE = 1000  # instructions after the last sample, which a recorded run has, too
BEFORE = ("set remotetimeout 600", "set confirm off", "set pagination off", "set architecture i386:x86-64")
SHOWN = ("info registers rip", "backtrace 16", "x/i $pc")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("profile", type=Path, metavar="PROFILE")
    parser.add_argument("sample", type=options.number(1, 10**9, "a sample"), nargs="?", metavar="SAMPLE")
    back = options.number(0, 10**9, "a number of instructions")
    parser.add_argument("--back", type=back, default=0, metavar="N", help="stop so many instructions before the sample")
    some = options.number(1, 10**5, "a number of instructions")
    parser.add_argument("--reverse", type=some, metavar="N", help="gdb steps back, too, by up to so many instructions")
    parser.add_argument(
        "--ex", action="append", default=[], metavar="COMMAND", help="gdb does this, and ends (may be repeated)"
    )
    parser.add_argument(
        "--lwprun", action="append", default=[], metavar="ARG", help="an option that run was given (may be repeated)"
    )
    parser.add_argument("--capsule", type=Path, metavar="FILE", help="what ./vlwp freeze has kept")
    machine.add_files(parser)
    machine.without_options(parser)
    parser.epilog = (
        "Program, input and options are those with which the profile was made: by run, or by shell if perf has made "
        "it. docs/case-goto.md"
    )


def _bias(file: Path, mapping: Mapping) -> int | None:
    """How far a file's code lies from where the file says; None: that is no code of it."""
    try:
        said = proc.output(["readelf", "-lW", file], stderr=DEVNULL)
    except CalledProcessError:
        return None
    for offset, address, size in CODE.findall(said):
        if 0 <= mapping.offset - (int(offset, 16) & -PAGE) <= int(size, 16):
            return mapping.start - mapping.offset + int(offset, 16) - int(address, 16)
    return None


def _symbols(mappings: Sequence[Mapping], pid: int, root: Path) -> list[str]:
    """gdb's commands for the symbols of a process, whose files are below a root; lwprun's own are of the build."""
    lines = []
    for one in mappings:
        tool = one.path.startswith(str(Path(machine.TOOLS_LWPRUN).parent))
        file = HOST / "guest-tools" / Path(one.path).name if tool else Path(f"{root}/{one.path}")
        if one.pid == pid and '"' not in one.path and file.is_file() and (bias := _bias(file, one)) is not None:
            lines.append(f'add-symbol-file "{file}" -o {bias:#x}')
    return lines


def _files(one: count1.Count1, root: Path, place: Path) -> Path:
    """The root with the program's files; those of a capsule are unpacked."""
    if not one.file:
        return root
    with capsule.opened(one.file) as content:
        for info in content.members:
            if info.isreg():
                (place / info.name).parent.mkdir(parents=True, exist_ok=True)
                (place / info.name).write_bytes(content.data(info).read())
    return place / capsule.ROOT


def _debug(there: Stopped, symbols: Sequence[str], commands: Sequence[str], run: Path, *go: str) -> int:
    """gdb at that instruction, to which these words go from where the machine is. Result: its exit status."""
    script = run / "commands"
    lines = [*BEFORE, *symbols, f"target remote {there.door}", *go, *SHOWN]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    there.release()
    words = ["gdb", "-q", "-nx", "-x", str(script), *(word for line in commands for word in ("-ex", line))]
    old = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for gdb
    try:
        return proc.call([*words, *(["-batch"] if commands else [])])
    finally:
        signal.signal(signal.SIGINT, old)


def until_timer(there: Stopped) -> int:
    """Of the clock, until the interrupt of the local APIC's timer; 0: it is off."""
    said = TIMER.search(there.monitor.do("human-monitor-command", **{"command-line": "info lapic"}))
    assert said
    return int(said[1]) * int(said[2])


def _behind_timers(there: Stopped, clock: int, executed: int) -> None:
    """Go on to where no such interrupt comes before the sample: a step back from behind one does not end in QEMU."""
    while 0 < (left := until_timer(there)) <= clock - there.clock():
        behind = there.executed() + left + HANDLED
        if behind >= executed:
            raise Died("Linux' timer interrupts right before this sample, where gdb cannot step back: use --back")
        there.monitor.do("replay-break", icount=behind)
        there.stub.ask("c")
    say(f"gdb steps back by up to {executed - there.executed()} instructions")


def _kernel(run: Path) -> Path:
    """The names of the kernel's functions on count-1."""
    names = run / "kallsyms"
    with names.open("wb") as out:
        machine.boot(machine.Machine(frozen=count1.Count1()), run, ["cat", "/proc/kallsyms"], stdin=DEVNULL, stdout=out)
    return names


def recorded(guest: machine.Machine, profile: Path, command: Sequence[str], run: Path) -> Recorded:
    """A profile of a command on the guest, which is count-1."""
    listed, mappings = samples.read(profile, run, _kernel(run) if samples.is_perf(profile) else None)
    if not listed:
        raise Died(f"{profile}: there are no samples in this profile")
    one = guest.frozen
    assert one
    if one.file:
        one.program = frozen.of_capsule(one.file, run)
    else:
        one.program = frozen.program(one, guest.root, run, command, command)
    return Recorded(profile, one, command, listed, mappings)


def _go(args: argparse.Namespace, root: Path, of: Recorded, run: Path) -> int:
    one, sample = of.one, of.samples[args.sample - 1]
    say("running the machine again, to see when it takes its samples ...")
    clocks = of.clocks(run / "again")
    clock = clocks[args.sample - 1]
    symbols = _symbols(of.mappings, sample.pid, _files(one, root, run))
    with stopped(one, run / "there", of.command) as there:
        say(f"sample {args.sample} of {len(of.samples)}: {sample}")
        if args.back:
            there.run_to(clock - 1 - args.back)
            what = f"{args.back} instructions before the sample"
        elif there.comes_to(clock, sample.address):
            what = "RIP is that of the sample"
        else:
            raise Died(f"sample {args.sample}: it is at {there.stub.rip():#x}, not at {sample.address:#x} as recorded")
        say(f"{what}; the machine's clock, an instruction a ns, is at {there.clock()}")
        clock, executed = there.clock(), there.executed()
        if not args.reverse:
            return _debug(there, symbols, args.ex, run)
    say("recording the run, and replaying it ...")
    with replayed(one, run / "replay", of.command, executed - args.reverse, clocks[-1] + MORE) as there:
        _behind_timers(there, clock, executed)
        return _debug(there, symbols, args.ex, run, f"monitor replay_break {executed}", "continue")


def main(args: argparse.Namespace) -> int:
    guest = machine.from_options(args, default=count1.Count1)
    if not args.program:
        raise Usage("go where? Give the program of then after --, or its --capsule")
    if args.sample and not shutil.which("gdb"):
        raise Died("goto opens gdb: apt-get install gdb, or leave SAMPLE out")
    perf = samples.is_perf(args.profile)
    machine.prepare(guest)
    command = args.program if perf else recording(guest, args.lwprun, args.program)
    with run_directory() as run:
        of = recorded(guest, args.profile, command, run)
        if not args.sample:
            print("\n".join(f"{number:7} {one}" for number, one in enumerate(of.samples, 1)))
            return 0
        if args.sample > len(of.samples):
            raise Died(f"{args.profile}: this profile has {len(of.samples)} samples, and no sample {args.sample}")
        return _go(args, guest.root, of, run)
