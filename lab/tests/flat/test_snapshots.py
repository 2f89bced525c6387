# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots (savevm, loadvm) of machines whose processors come, go, and get INIT while a program is profiled. A
debugger stops a flat test at functions or instructions of it. What is saved there ends as the undisturbed test: in the
process that has saved it, which has continued meanwhile, and in a fresh one. What cannot be loaded is refused in one
line."""

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.common.rows import planted
from lab.testing.suite import PASSED
from lab.tests.conftest import Start
from lab.tests.disk import Disk
from lab.tests.flat.kernel import LWP, OS, PLAIN, PMU, STOPPED, flat, symbols
from lab.common.qmp import Stub, Vm

# Of the flat test dcache.
CACHES = f"{LWP},lwp-dme=on,lwp-cache-l1d=512/2/4,lwp-cache-l2=2K/4/12,lwp-cache-l3=8K/8/39"
COUNTERS = f"{PMU},+perfmon-v2,+amd-lbr-v2,+amd-lbr-pmc-freeze,+ibs"
# What a machine without a CPU says of one that has it, as a regular expression: newer QEMUs have another order.
CPU_IS_MISSING = "section or instance '(cpu_common|apic)' 1"


class Snapshots:
    """A machine with a disk for snapshots, and its debugger."""

    def __init__(self, vm: Vm, disk: Path, stub: Path, serial: Path):
        self.vm, self.disk, self.stub, self.serial, self.at = vm, Disk(vm, disk), Stub(stub), serial, ""

    def refuses(self, tag: str, why: str) -> None:
        """It is not loaded, for a reason (a regular expression) in one line; QEMU may add another line, with the
        section. Newer QEMUs have the reason in the job's error. The machine has stopped for good."""
        before = len(self.vm.said())
        error = self.disk.job("snapshot-load", tag)
        assert error, f"{tag} is loaded"
        first, *more = self.vm.said()[before:].splitlines() or [error]
        assert re.search(why, first) and all("error while loading state" in line for line in more)

    def run_to(self, symbol: str) -> None:
        """To where the test comes to this symbol the next time."""
        before, self.at = self.at, f"{symbols()[symbol]:x}"
        if before:
            assert self.stub.ask(f"z1,{before},1") == "OK"
        if before == self.at:  # it is there now, and a breakpoint there would stop it at once
            assert self.stub.ask("s").startswith("T05")
        assert self.stub.ask(f"Z1,{self.at},1") == "OK"
        assert self.stub.ask("c").startswith("T05"), f"it does not come to {symbol}"

    def records(self) -> None:
        """Run until there are more records, and stop."""
        before = self.vm.stat("records")
        self.vm.do("cont")
        while self.vm.stat("records") == before:
            assert self.vm.child.poll() is None, "the program has ended too soon"
        self.vm.do("stop")

    def passes(self) -> bool:
        """Does the test pass?"""
        if self.at:
            self.stub.ask(f"z1,{self.at},1")
            with contextlib.suppress(OSError):  # the machine runs on, and may have ended before it answers
                self.stub.ask("D")
        else:
            self.vm.do("cont")
        status = self.vm.wait()
        print(f"status {status}: {self.serial.read_text(errors='replace')}")
        return status == PASSED


Begin = Callable[..., Snapshots]


@pytest.fixture
def begin(vm: Start, tmp_path: Path) -> Begin:
    """Starts a machine with the test's disk: begin(cpu, word...)."""
    numbers = iter(range(1000))

    def start(cpu: str, *words: str) -> Snapshots:
        stub, serial = (tmp_path / f"{kind}{next(numbers)}" for kind in ("gdb", "serial"))
        it = vm(cpu, *words, "-serial", f"file:{serial}", *Stub.words(stub), STOPPED)
        return Snapshots(it, tmp_path / "disk", stub, serial)

    return start


INIT_POINTS = (
    "ini_start", "smp_init_others", "smp_start", "ini_query", "ini_spin", "smp_init_others", "smp_start", "ini_query",
)
PREDICTED = "test=pmu_predictor cpus=1"


def tag(point: int) -> str:
    """Of the snapshot at a point."""
    return f"at{point}"


@pytest.mark.parametrize("cpu, append, points, gone", [
    pytest.param(LWP, "test=init cpus=2", INIT_POINTS, 99, id="init"),
    pytest.param(OS, "test=init cpus=2 context=os", INIT_POINTS, 99, id="os-init"),
    pytest.param(LWP, "test=cpu_unplug cpus=2", ("cup_start", "cup_spin", "lwp_touch", "cup_store"), 2, id="unplug"),
    pytest.param(COUNTERS, "test=pmu_lbr cpus=1", ("lbr_back", "lbr_jcc", "lbr_f", "lbr_ud"), 99, id="lbr"),
    pytest.param(COUNTERS, PREDICTED, ("prd_same", "prd_targets", "prd_top"), 99, id="predictor"),
    pytest.param(COUNTERS, "test=pmu_ibs cpus=1", ("ibs_3", "ibs_8", "ibs_fill"), 99, id="ibs"),
    # A walk through new lines: what the process has loaded after the snapshot misses again after loadvm.
    pytest.param(CACHES, "test=dcache cpus=1", ("dc_stride_1",) * 4, 99, id="dcache"),
])
def test_snapshot(begin: Begin, cpu: str, append: str, points: tuple[str, ...], gone: int) -> None:
    """A flat test is saved at each point, continues to the next, goes back, and passes; a fresh process that loads it
    there passes. gone: from this point on the second CPU is not there."""
    more = planted("", "predictor=2bit") if append == PREDICTED else []

    def start(point: int) -> Snapshots:
        return begin(cpu, *more, *flat(append, "-smp", "2" if point < gone else "1,maxcpus=2"))

    it = start(0)
    for point, symbol in enumerate(points):
        it.run_to(symbol)
        if point == gone:
            it.refuses(tag(point - 1), CPU_IS_MISSING)
            it.vm.kill()
            it = start(point - 1)
        if point:
            it.disk.load(tag(point - 1))
            it.run_to(symbol)
        it.disk.save(tag(point))
    assert it.passes(), "saved and gone back at each point, the test does not pass"
    for point, symbol in enumerate(points):
        fresh = start(point)
        fresh.disk.load(tag(point))
        assert fresh.passes(), f"{symbol}: loaded by a fresh process, the test does not pass"


BENCH = flat("test=bench cpus=1 rounds=9000 interval=100")
ONE_CPU = (*BENCH, "-smp", "1,maxcpus=2")
TWO_CPUS = (*BENCH, "-smp", "2")


def test_snapshot_plug(begin: Begin) -> None:
    """A snapshot without the CPU that has come meanwhile is loaded: its system knows nothing of that CPU. One with a
    CPU that is not there is refused, until it is there."""
    it = begin(LWP, *ONE_CPU)
    it.records()
    it.disk.save("one")
    it.vm.plug()
    it.records()
    it.disk.save("two")
    for name in ("two", "one", "two", "one"):
        it.records()
        it.disk.load(name)
    assert it.passes()
    for words, name in ((ONE_CPU, "one"), (TWO_CPUS, "one"), (TWO_CPUS, "two")):
        fresh = begin(LWP, *words)
        fresh.disk.load(name)
        assert fresh.passes()
    begin(LWP, *ONE_CPU).refuses("two", CPU_IS_MISSING)


@pytest.mark.parametrize("cpu, says", [
    (f"{LWP},lwp-rev=2007", "source has lwp-rev=43724, this host 2007: start both with the same"),
    (OS, "source has lwp-context=auto, this host os: start both with the same"),
    (PLAIN, "section or instance 'x86-lwp'"),
], ids=["revision", "contexts", "none"])
def test_snapshot_unlike(begin: Begin, cpu: str, says: str) -> None:
    """A machine with another LWP refuses a snapshot as it refuses a migration."""
    it = begin(LWP, *ONE_CPU)
    it.records()
    it.disk.save("one")
    it.vm.kill()
    begin(cpu, *ONE_CPU).refuses("one", says)
