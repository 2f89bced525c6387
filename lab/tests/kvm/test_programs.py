# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of kvm/tests: each run of the table in a machine that it wants."""

import itertools
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from statistics import median

import pytest

from lab.common import bases, proc
from lab.common.kit import tap
from lab.nested import l1
from lab.nested.programs import Run, run_of, runs
from lab.tests.kvm.conftest import Done, InL1, OnMachine
from lab.tests.plugin import Points, Tell, shows

MEMORY = re.compile(r" memory:(\d+)")
MORE_MEMORY = 4096  # bytes: of the statistics of a VM


def params(every: Iterable[Run]) -> list[object]:
    """Those that can share an L1 are one group."""
    ordered = sorted(every, key=lambda run: l1.group_of(run.lab()))
    return [pytest.param(run, id=run.name, marks=pytest.mark.xdist_group(l1.group_of(run.lab()))) for run in ordered]


def judge(run: Run, done: Done, points: Points, tell: Tell) -> None:
    """A program's TAP."""
    found = tap.read(done.said)
    points(found.passed, found.failed, 0)
    for line in found.notes:
        tell(line)
    assert found.complete, f"{run.title} ended early:\n{done.said}"
    assert not found.failed, "\n".join(found.shown)
    assert done.status == 0, f"status {done.status} without a failed test: L1's kernel complains\n{done.said}"


def command(run: Run, seed: int) -> list[str]:
    """With a seed where it takes one."""
    return [*run.command(), *([str(seed)] if run.result == "seeded-tap" else [])]


@shows(lambda run: run.line, lambda run: l1.shown(run.lab(), run.command()))
@pytest.mark.parametrize("run", params(run for run in runs() if run.result != "exits"))
def test_row(run: Run, on_machine: OnMachine, seed: int, points: Points, tell: Tell) -> None:
    judge(run, on_machine(run, command(run, seed)), points, tell)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["kvm_hostile", "kvm_test_flush"])
def test_hostile_for_long(name: str, in_l1: InL1, seed: int, scale: int, points: Points, tell: Tell) -> None:
    """Hostile guests and hostile user space reach no memory but their own, for a minute times the scale."""
    run = replace(run_of(name), args=(str(60 * scale),))
    judge(run, in_l1(replace(run.lab(), limit=None), command(run, seed)), points, tell)


@pytest.mark.soak
@pytest.mark.parametrize("kernels", itertools.permutations(["", *bases.other_kernels()], 2), ids="-to-".join)
def test_states_across_kernels(kernels: tuple[str, str], in_l1: InL1, points: Points, tell: Tell) -> None:
    """What one kernel's KVM has saved in each mode records under the other's as a vCPU that nobody has stopped."""
    run = next(run for run in runs() if run.name == "test_migrate/modes")
    file = '"$VLWP_SHARE/states"'
    for half, linux in zip("wr", kernels, strict=True):
        if linux:
            l1.prepare_kernel(linux)
        words = ["sh", "-c", f"exec {proc.quoted(run.command())} {half} {file}"]
        done = in_l1(replace(run.lab(), linux=linux), words)
        judge(run, done, points, tell)
        file = shlex.quote(str(done.share / "states"))


EXITS = [run for run in runs() if run.result == "exits"]
ROUNDS = int(EXITS[0].args[0])


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Lines of rounds, of one run after the other: with the kernel's own modules, and with ours. Each in an L1 of its
    own, whose kernel has allocated nothing for others."""
    lab, every = replace(EXITS[0].lab(), smp=max(run.smp for run in EXITS)), []
    for stock in (True, False):
        place = tmp_path_factory.mktemp("exits")
        commands = " && ".join(proc.quoted(run.command()) for run in EXITS)
        status = l1.boot_logged(replace(lab, stock=stock), place, ["sh", "-c", commands])
        text = (place / "log").read_text(encoding="utf-8", errors="replace")
        assert status == 0, text
        every.append([line for line in text.splitlines() if line.startswith("# exits")])
        assert len(every[-1]) == ROUNDS * len(EXITS) and all(":" in line for line in every[-1]), "rounds are missing"
    return every


@shows(lambda run: run.line)
@pytest.mark.xdist_group("exits")
@pytest.mark.parametrize("run", [pytest.param(run, id=run.variant) for run in EXITS])
def test_exits(run: Run, rounds: list[list[str]]) -> None:
    """A guest that does not use LWP exits as often, and for the same reasons, as with the kernel's own modules. KVM
    allocates no more for it than for its statistics."""
    begin = EXITS.index(run) * ROUNDS
    both = [lines[begin:begin + ROUNDS] for lines in rounds]
    assert len({MEMORY.sub("", line) for lines in both for line in lines}) == 1, "\n".join(map("\n".join, both))
    # The kernel allocates more now and then, in the first round above all.
    memory = [[int(found[1]) for line in lines if (found := MEMORY.search(line))] for lines in both]
    assert all(memory) or run.variant == "idle"
    assert not all(memory) or abs(median(memory[1]) - median(memory[0])) <= MORE_MEMORY
