# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp goto: count-1 comes again to the instruction of a sample."""

import random
import re
import shutil
from pathlib import Path

import pytest

from lab.common import proc
from lab.common.samples import Sample
from lab.common.say import Died
from lab.guest.count1 import Count1
from lab.guest.sampled import Recorded, matched
from lab.guest.stopped import stopped
from lab.nested.machine import Machine
from lab.start.goto import recorded, until_timer
from lab.start.run import recording
from lab.tests.conftest import good, run
from lab.tests.linux.tools import VLWP, WORKLOAD

AT_ONCE = 4  # samples
STEPS = 11  # back
AWAY = 9000  # instructions from a tick
LIMIT = 100  # seconds; a step back may not end
EVENTS = "--event=instructions:1009,branches:997"
JIT = "local n = 0; for i = 1, 3e5 do n = n + i % 7 end; print(n)"
# What lwprun profiles: code of two events, and code that is compiled at run time.
PROFILED = {"user": (str(WORKLOAD), "1", "300"), "jit": ("luajit", "-e", JIT)}
LS = ("ls", "-lR", "/etc/default")
# What perf samples: the kernel; each mode, with last branches, and by IBS.
SAMPLED = {
    "kernel": ("-e", "instructions:k", "-c", "20011"), "modes": ("-b", "-e", "branches", "-c", "5003"),
    "ibs": ("-e", "ibs_op/cnt_ctl=1/", "-c", "20000"),
}


def by_lwprun(program: tuple[str, ...], place: Path) -> Recorded:
    """Profile a program."""
    good([VLWP, "run", "--machine=count-1", f"--data={place}/profile", f"--lwprun={EVENTS}", "--", *program])
    guest = Machine(frozen=Count1())
    return recorded(guest, place / "profile", recording(guest, [EVENTS], program), place)


def by_perf(options: tuple[str, ...], place: Path) -> Recorded:
    """The same with perf in the guest."""
    command = ["perf", "record", "-qB", *options, "-o", "/run/vlwp/perf.data", "--", *LS]
    good([VLWP, "shell", "--machine=count-1", f"--share={place}", "--", *command])
    return recorded(Machine(frozen=Count1()), place / "perf.data", command, place)


def comes_to_samples(name: str, tmp_path: Path, seed: int, scale: int) -> None:
    """Samples by chance: the machine is at the instruction of the record, and has executed as many as the time stamp of
    lwprun's says."""
    if name == "jit" and not shutil.which("luajit"):
        pytest.skip("needs luajit")
    of = by_lwprun(PROFILED[name], tmp_path) if name in PROFILED else by_perf(SAMPLED[name], tmp_path)
    clocks = of.clocks(tmp_path / "again")
    chosen = random.Random(seed).sample(range(len(clocks)), min(AT_ONCE * scale, len(clocks)))
    # The kernel's last instruction is the one that returns: the sample names the next, which is the program's.
    returned = {at for at, one in enumerate(of.samples) if name == "kernel" and not one.address >> 63}
    assert len(returned) < len(clocks) / 4
    late = set()
    with stopped(of.one, tmp_path / "there", of.command) as there:
        for one in sorted({*chosen, *returned}):
            if one in returned:
                there.run_to(clocks[one] - 2)
                assert there.stub.rip() >> 63, f"{one + 1} is not behind the kernel"
            assert there.comes_to(clocks[one], of.samples[one].address), f"{one + 1}: {there.stub.rip():#x}"
            late.add(of.samples[one].time - there.clock())
    assert name not in PROFILED or len(late) == 1, late
    assert name != "jit" or any("/" not in one.where for one in of.samples)


@pytest.mark.long
@pytest.mark.parametrize("name", ("user", "jit", "kernel"))
def test_goto_samples(name: str, tmp_path: Path, seed: int, scale: int) -> None:
    """count-1 comes again to samples of user code, of what a JIT has compiled, of the kernel."""
    comes_to_samples(name, tmp_path, seed, scale)


@pytest.mark.soak
@pytest.mark.parametrize("name", ("modes", "ibs"))
def test_goto_samples_more(name: str, tmp_path: Path, seed: int, scale: int) -> None:
    """The same of each mode, with last branches, and of IBS."""
    comes_to_samples(name, tmp_path, seed, scale)


def test_goto_command(tmp_path: Path) -> None:
    """It lists samples, and opens gdb where one is: its function with those that have called it, and RIP; or so many
    instructions before. Of a capsule it needs no more."""
    good([VLWP, "freeze", "-o", tmp_path / "capsule", "--", WORKLOAD, "1", "300"])
    options = [f"--capsule={tmp_path}/capsule", f"--lwprun={EVENTS}"]
    good([VLWP, "run", *options, f"--data={tmp_path}/profile"])
    lines = [line.split() for line in good([VLWP, "goto", *options, tmp_path / "profile"]).splitlines()]
    number, _, _, event, address, where, _ = next(line for line in lines if line[5].startswith("hot_recurse"))
    assert event in ("instructions", "branches")
    ended = run([VLWP, "goto", *options, "--ex", "p/x $rip", tmp_path / "profile", number])
    assert ended.status == 0 and f"$1 = {address}\n" in ended.out
    assert f"sample {number} of {len(lines)}: " in ended.err and where in ended.err
    stack = [line for line in ended.out.splitlines() if line.startswith("#")]
    assert "hot_recurse" in stack[0] and any(" main (" in line for line in stack)
    steps = ["--back=5", "--ex", "stepi 5", "--ex", "p/x $rip"]
    said = good([VLWP, "goto", *options, *steps, tmp_path / "profile", number])
    assert f"$1 = {address}\n" in said, "it is not five instructions before"


def rips_before(of: Recorded, number: int, place: Path) -> list[int]:
    """Of the instructions before a sample, at which --back=STEPS to --back=1 stop."""
    clock = of.clocks(place / "again")[number - 1] - 1
    found = []
    with stopped(of.one, place / "there", of.command) as there:
        for back in range(STEPS, 0, -1):
            there.run_to(clock - back)
            found.append(there.stub.rip())
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", ("user", pytest.param("kernel", marks=pytest.mark.soak)))
def test_goto_reverse(name: str, tmp_path: Path) -> None:
    """gdb goes back to the last pass of a breakpoint, forward again, and back by steps: to the instructions where
    --back stops. It does not go back before the first that --reverse allows."""
    user = name == "user"
    of = by_lwprun(PROFILED["user"], tmp_path) if user else by_perf(SAMPLED["kernel"], tmp_path)
    number = len(of.samples) // 2
    *rips, there = rips_before(of, number, tmp_path)
    last = max(at for at, rip in enumerate(rips) if rip == rips[STEPS // 2])
    moves = [f"break *{rips[last]:#x}", "reverse-continue", "reverse-stepi", "delete", f"stepi {STEPS - last}"]
    moves += ["reverse-stepi"] * STEPS
    asked = [word for move in moves for word in ("--ex", move, "--ex", "p/x $rip")]
    program = [f"--lwprun={EVENTS}", "--", *PROFILED["user"]] if user else ["--", *of.command]
    said = good([VLWP, "goto", "--back=1", f"--reverse={STEPS - 1}", *asked, of.profile, f"{number}", *program])
    seen = [int(line.split()[2], 16) for line in said.splitlines() if line.startswith("$")]
    assert seen[:5] == [there, rips[last], rips[last - 1], rips[last - 1], there]
    assert seen[5:] == [*reversed(rips), rips[0]]


@pytest.mark.long
def test_goto_reverse_behind_a_tick(tmp_path: Path) -> None:
    """Where Linux' tick came on the way gdb steps back, too, and it is said how far; right behind it a line says
    that it cannot."""
    program = (str(WORKLOAD), "1", "4000")
    of = by_lwprun(program, tmp_path)
    clocks = of.clocks(tmp_path / "clocks")
    with stopped(of.one, tmp_path / "begin", of.command) as there:
        there.run_to(clocks[0])
        tick = there.clock() + until_timer(there)
    number = next(number for number, clock in enumerate(clocks, 1) if clock > tick + AWAY)
    away = clocks[number - 1] - tick
    rips = rips_before(of, number, tmp_path)
    moves = [word for _ in range(2) for word in ("--ex", "reverse-stepi", "--ex", "p/x $rip")]
    sample: list[proc.Word] = [of.profile, f"{number}", f"--lwprun={EVENTS}", "--", *program]
    ended = run([VLWP, "goto", f"--reverse={10 * AWAY}", *moves, *sample], LIMIT)
    seen = [int(line.split()[2], 16) for line in ended.out.splitlines() if line.startswith("$")]
    assert seen == rips[:-3:-1]
    far = re.search(r"gdb steps back by up to (\d+) instructions", ended.err)
    assert far and 0 < int(far[1]) < away
    ended = run([VLWP, "goto", f"--back={away - 100}", f"--reverse={AWAY}", *sample], LIMIT)
    assert ended.status == 1 and "timer interrupts right before this sample" in ended.err.splitlines()[-1]


def test_goto_refused(tmp_path: Path) -> None:
    """One line says what is wrong: no profile, no such sample, another program."""
    (tmp_path / "none").write_text("text", encoding="ascii")
    of = by_lwprun(PROFILED["user"], tmp_path)
    program = [f"--lwprun={EVENTS}", "--", *PROFILED["user"]]
    cases: list[tuple[list[proc.Word], str]] = [
        ([tmp_path / "none", "1", *program], "this is no profile"),
        ([tmp_path / "gone", "1", *program], "No such file"),
        ([of.profile, f"{len(of.samples) + 1}", *program], f"has {len(of.samples)} samples"),
        ([of.profile, "1", *program[:-1], "301"], "another profile is made here"), ([of.profile, "1"], "go where?"),
        (["--reverse=0", of.profile, "1", *program], "'0' is not a number of instructions from 1 to 100000"),
        (["--back=1000000000", of.profile, "1", *program], "the machine's clock begins at"),
    ]
    for words, text in cases:
        ended = run([VLWP, "goto", *words])
        assert ended.status in (1, 2) and text in ended.err.splitlines()[-1], ended.said


def _samples(*times: int) -> list[Sample]:
    return [Sample(1, 1, time, "branches", 0, "") for time in times]


def test_goto_matched() -> None:
    """As many samples as were traced are these. Of fewer the times tell which; if they do not, one line says so."""
    assert matched(_samples(5, 9, 9), [1, 2, 7]) == [1, 2, 7]
    assert matched(_samples(107, 110), [1, 5, 7, 10]) == [7, 10]
    with pytest.raises(Died, match="3 of 4 samples"):
        matched(_samples(107, 110, 112), [1, 5, 7, 10])
