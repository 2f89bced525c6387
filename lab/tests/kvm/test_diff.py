# SPDX-License-Identifier: GPL-2.0-or-later
"""The differential test: the same random programs in TCG and, in the nested lab, in KVM; in a process, programs that
need no kernel. What LWP leaves in their memory must be the same to the byte; with counters that interrupt late but for
records that KVM calls late."""

import difflib
import re
from dataclasses import dataclass, replace

import pytest

from lab.building import qemu
from lab.common.places import LAB, LINUX_PROGRAMS, qemu_user
from lab.common.rows import known, perf, skid
from lab.guest import process
from lab.nested.l1 import L1
from lab.testing.suite import flatrun
from lab.tests.conftest import good
from lab.tests.kvm import late
from lab.tests.kvm.conftest import Done, InL1
from lab.tests.plugin import Tell

TRACE = LAB / "nested/trace-l1.sh"
MACHINE = L1(smp=2, limit=1500)
COUNT = 25  # programs
RECORD = re.compile(r"dump program (\d+): (ring [0-9a-f]* block [0-9a-f]*) .* (head .*)")
MEMORY = re.compile(r"dump program (\d+: ring [0-9a-f]* block [0-9a-f]* memory [0-9a-f]*)")
HISTOGRAM = re.compile(r"^ *# *(\d+ .*)", re.MULTILINE)


@dataclass(frozen=True)
class Programs:
    """Random programs, and how they are tested with counters."""

    seed: int
    count: int
    first: int = 0
    words: tuple[str, ...] = ()  # more for the programs, as "spin=100" (guest-tests/flat/tests/diff.c)

    def command(self, accel: str, seconds: int) -> list[str]:
        """flatrun's command line for them."""
        words = " ".join([f"seed={self.seed}", f"first={self.first}", f"count={self.count}", *self.words])
        options = ("--only", "diff", "--verbose", "--seconds", seconds, "--args", words)
        return flatrun(*options, accel=accel)


@dataclass(frozen=True)
class Skid:
    """How late interrupts come."""

    name: str
    words: tuple[str, ...]  # for programs and intervals that are long beside the margin
    permille: int  # records that may be late

    def lab(self, lab: L1) -> L1:
        """The machine with it."""
        return replace(lab, cpu="EPYC,pmu=on", devices=skid(self.name), kvm_amd=perf(known(self.name)))


# In the order of the soak, the longest last.
SKIDS = {
    skid.name: skid
    for skid in (
        # A fixed skid: a margin that is just enough, see kvm/tests/kvm_test_perf.c.
        Skid("0", (), 0),
        Skid("500", ("spin=100", "interval=700"), 0),
        Skid("zen2/16", ("spin=100", "interval=400"), 10),
        Skid("zen3/16", ("spin=100", "interval=400"), 10),
        Skid("adversarial", ("spin=300", "interval=2000"), 1000),
        Skid("zen2", ("spin=600", "interval=6000"), 10),
        Skid("zen3", ("spin=600", "interval=6000"), 10),
    )
}


def _both(programs: Programs, lab: L1, in_l1: InL1) -> tuple[str, Done]:
    """Run them in both. Result: what they have printed in TCG, and how they have ended in KVM."""
    tcg = good(programs.command("tcg", 900)).replace("\r", "")
    done = in_l1(lab, [TRACE, *programs.command("kvm", 9000)])
    assert done.status == 0, f"status {done.status} in KVM"
    return tcg, replace(done, said=done.said.replace("\r", ""))


def records(output: str) -> list[str]:
    """Of each program the number, ring, block, head and missed events."""
    return [f"program {number} {state} {rest}" for number, state, rest in RECORD.findall(output)]


@pytest.fixture
def programs(pytestconfig: pytest.Config, seed: int, scale: int) -> Programs:
    """Drawn; with --replay=SEED,N that one."""
    replay = pytestconfig.getoption("--replay")
    if not replay:
        return Programs(seed, COUNT * scale)
    seed, number = map(int, replay.split(","))
    return Programs(seed, 1, number)


def test_diff(programs: Programs, in_l1: InL1, tell: Tell) -> None:
    """25 random programs leave the same records in TCG and KVM."""
    output, done = _both(programs, MACHINE, in_l1)
    print(", ".join(HISTOGRAM.findall(output)))
    tcg, kvm = records(output), records(done.said)
    same = len(set(tcg) & set(kvm))
    tell(f"{same} of {programs.count} programs leave the same ring and block; seed {programs.seed}")
    differ = list(difflib.unified_diff(tcg, kvm, "TCG", "KVM", n=0, lineterm=""))[:20]
    again = f"program N alone: ./vlwp soak diff --replay={programs.seed},N"
    assert same == programs.count, "\n".join([*differ, again])


def test_diff_process(programs: Programs, tell: Tell) -> None:
    """25 random programs that need no kernel leave the same ring, block and memory in a process and in TCG."""
    qemu.ensure_user()
    tcg = MEMORY.findall(good(replace(programs, words=("process=1",)).command("tcg", 900)))
    numbers = (programs.seed, programs.first, programs.count)
    mine = MEMORY.findall(good([qemu_user(), "-cpu", process.CPU, LINUX_PROGRAMS / "diff_process", *map(str, numbers)]))
    differ = list(difflib.unified_diff(tcg, mine, "TCG", "process", n=0, lineterm=""))[:20]
    tell(f"{len(set(tcg) & set(mine))} of {programs.count} programs are the same in a process; seed {programs.seed}")
    assert len(tcg) == programs.count and not differ, "\n".join(differ)


def _late(skid: Skid, programs: Programs, in_l1: InL1, tell: Tell) -> None:
    """With a counter that interrupts late. Records that KVM says it delivered late may differ; at most permille of a
    thousand may be late. The counter must have been used."""
    programs = replace(programs, words=(*skid.words, "records=1", "counters=1"))
    output, done = _both(programs, skid.lab(MACHINE), in_l1)
    overshoots = (done.share / "overshoots").read_text(encoding="utf-8")
    summary, wrong = late.compare(output, done.said, overshoots, skid.permille)
    reads = int((done.share / "reads").read_text(encoding="utf-8"))
    tell(f"{skid.name}: {summary}; seed {programs.seed}; the counter was read {reads} times")
    assert not wrong and reads > programs.count // 4, "\n".join(wrong)  # it is used in every fourth program


@pytest.mark.parametrize("name, part", [("0", 4), ("500", 8)], ids=["skid-0", "skid-500"])
def test_diff_late(programs: Programs, in_l1: InL1, tell: Tell, name: str, part: int) -> None:
    """Random programs leave the same records in TCG and KVM whose counters interrupt late."""
    _late(SKIDS[name], replace(programs, count=-(-programs.count // part)), in_l1, tell)


@pytest.mark.soak
@pytest.mark.parametrize("name", SKIDS)
def test_diff_skid(programs: Programs, in_l1: InL1, tell: Tell, name: str) -> None:
    """The same with each of the emulator's ways to be late."""
    _late(SKIDS[name], programs, in_l1, tell)
