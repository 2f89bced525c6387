# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the flat tests under -icount, which counts instructions in translated code, too; and recorded and replayed:
the replay says what the record has said, and does the same to registers.

A random tenth of them, for 20 seconds; `./vlwp soak icount` has all."""

import random
import re
import time
from pathlib import Path

import pytest

from lab.common import proc
from lab.common.qmp import Stub
from lab.testing.suite import ROWS, SECONDS, Row, command, failures, run
from lab.tests.conftest import Start
from lab.tests.flat.kernel import symbols
from lab.tests.plugin import Points, Tell, shows

ICOUNT = "shift=6,sleep=off"
CLOCK = ("-rtc", "clock=vm")
# Two vCPUs have to run at the same moment; with -icount they take turns.
TOGETHER = ("code_apart", "code_held", "context_mmio", "context_mmio_svm")
# QEMU's one thread for all vCPUs cannot wait for its own end.
OTHERWISE = ("cpu_unplug",)
TEST_SECONDS = 20
COUNTED = [row for row in ROWS if row.offered("tcg") and row.name not in (*TOGETHER, *OTHERWISE)]
# What QEMU itself does not replay: a reset of the machine, and an interrupt that a hypervisor intercepts.
REPLAYED = [row for row in COUNTED if row.cpus == 1 and not row.resets and row.name not in ("pmu_row", "pmu_svm")]


def counting(row: Row, more: str = "") -> list[str]:
    """The command line of a row under -icount."""
    return [*command(row), "-icount", ICOUNT + more, *CLOCK]


def judge(row: Row) -> None:
    """The row passes."""
    result = run(counting(row), SECONDS)
    assert not result.failed, "\n".join([f"{row.name}: {result.why}", *failures(result)])


def recorded(row: Row, log: Path) -> tuple[str, list[str]]:
    """The row passes; what it says, and the command line of its replay."""
    argv = [counting(row, f",rr={mode},rrfile={log}") for mode in ("record", "replay")]
    for one in argv:
        one[one.index("-append") + 1] += " place=ram"  # tells the registers
    first = run(argv[0], SECONDS)
    assert not first.failed and re.search("^# registers", first.said, re.MULTILINE), "\n".join([
        f"{row.name}: {first.why}", *failures(first)
    ])
    return first.said, argv[1]


def judge_replay(row: Row, log: Path, accel: str = "tcg") -> None:
    """The row passes, and is replayed, maybe by another accelerator."""
    said, argv = recorded(row, log)
    argv[argv.index("-accel") + 1] = accel
    again = run(argv, SECONDS)
    assert again.said == said, f"{row.name}: the replay differs: {again.errors[-500:]}"


@shows(lambda row: "", lambda row: proc.quoted(counting(row)))
@pytest.mark.soak
@pytest.mark.parametrize("row", COUNTED, ids=[row.name for row in COUNTED])
def test_counted(row: Row) -> None:
    judge(row)


@shows(lambda row: "", lambda row: proc.quoted(counting(row, ",rr=record,rrfile=FILE")))
@pytest.mark.soak
@pytest.mark.parametrize("row", REPLAYED, ids=[row.name for row in REPLAYED])
def test_replayed(row: Row, tmp_path: Path) -> None:
    judge_replay(row, tmp_path / "log")


@pytest.mark.parametrize("name", ["budget", "threshold", "pmu_overflow", "dcache", "retry", "pmu_skid_zen2"])
def test_other_blocks(name: str, tmp_path: Path) -> None:
    """How code is translated shows nowhere: what blocks of many instructions have done, blocks of one do again, at the
    same number of instructions."""
    row = next(row for row in REPLAYED if row.name == name)
    judge_replay(row, tmp_path / "log", "tcg,one-insn-per-tb=on")


@pytest.mark.parametrize("mode", ["run", "replay"])
def test_debugger(mode: str, vm: Start, tmp_path: Path) -> None:
    """A debugger that stops a run, or a replay, wherever a program begins changes nothing of it: its breakpoints do not
    move the guest's clock."""
    said, argv = recorded(next(row for row in REPLAYED if row.name == "threshold"), tmp_path / "log")
    if mode == "run":
        argv = [word.partition(",rr=")[0] for word in argv]
        said = run(argv, SECONDS).said
    it = vm(argv=[*argv, "-S", *Stub.words(tmp_path / "gdb")])
    stub, at, stops = Stub(tmp_path / "gdb"), f"1,{symbols()['user_run']:x},1", 0
    while stub.ask(f"Z{at}") == "OK" and stub.ask("c").startswith("T05"):
        stops += 1
        assert stub.ask(f"z{at}") == "OK" and stub.ask("s").startswith("T05")
    it.wait()
    assert stops and it.said().endswith(said)  # after warnings


def test_same_records(seed: int) -> None:
    """Random programs, whose threads and processes switch, leave the same records with -icount as without."""
    row, said = next(row for row in ROWS if row.name == "diff"), []
    words = f" seed={seed} count=100 spin=100 interval=400"
    for more in ((), ("-icount", ICOUNT)):
        argv = [*command(row), *more]
        argv[argv.index("-append") + 1] += words
        said.append(re.findall(r"# dump .*", run(argv, SECONDS).said))
    assert len(said[0]) == 100 and said[0] == said[1]


def test_icount(seed: int, points: Points, tell: Tell, tmp_path: Path) -> None:
    """A random tenth of ./vlwp soak icount, for 20 s."""
    over, done, wrong = time.monotonic() + TEST_SECONDS, 0, []
    for row in random.Random(seed).sample(COUNTED, len(COUNTED) // 10):
        if time.monotonic() > over:
            break
        done += 1
        try:
            if row in REPLAYED:
                judge_replay(row, tmp_path / "log")
            else:
                judge(row)
        except AssertionError as err:
            wrong.append(str(err))
    points(done - len(wrong), len(wrong), 0)
    tell(f"{done} rows with -icount; each alone: ./vlwp soak icount ROW")
    assert done and not wrong, "\n".join(wrong)
