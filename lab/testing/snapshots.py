# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots (savevm, loadvm) of machines whose processors come, go, and get INIT while a program is profiled. A
debugger stops a flat test at functions or instructions of it. What is saved there ends as the undisturbed test: in the
process that has saved it, which has gone on meanwhile, and in a fresh one. What cannot be loaded is refused in one
line."""

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab.common import proc
from lab.common.report import Check, Report
from lab.testing.emulator import FLAT, IMAGE, LWP, STOPPED, Stub, Vm, command, plug
from lab.testing.part import Case
from lab.testing.suite import PASSED

OS = f"{LWP},lwp-context=os"
# Of the flat test dcache.
CACHES = f"{LWP},lwp-dme=on,lwp-cache-l1d=512/2/4,lwp-cache-l2=2K/4/12,lwp-cache-l3=8K/8/39"
IMAGE_BYTES = 256 << 20
# What a machine without a CPU says of one that has it, as a regular expression: QEMU 10.2 has another order.
CPU_IS_MISSING = "section or instance '(cpu_common|apic)' 1"


class Snapshots:
    """A machine with a disk for snapshots, and its debugger."""

    def __init__(self, check: Check, disk: Path, cpu: str, words: Sequence[str]):
        stub = check.work / "gdb"
        stub.unlink(missing_ok=True)
        serial = ["-serial", f"file:{check.work}/serial"]
        argv = [*command(cpu, *FLAT, *serial, *words), *STOPPED, "-gdb", f"unix:{stub},server=on,wait=off"]
        self.vm, self.check = Vm(check, argv), check
        there = disk.is_file()
        disk.touch()
        self.vm.do("blockdev-add", **{"driver": "file", "node-name": "file", "filename": str(disk)})
        if not there:
            options = {"driver": "qcow2", "file": "file", "size": IMAGE_BYTES}
            self.vm.do("blockdev-create", **{"job-id": "job", "options": options})
            self._ended()
        self.vm.do("blockdev-add", **{"driver": "qcow2", "node-name": "disk", "file": "file"})
        self.stub = Stub(stub)
        self.at = ""

    def __enter__(self) -> "Snapshots":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """The process ends."""
        self.vm.end()

    def _ended(self) -> str:
        """A job is over. Result: why it has failed, empty if it has not."""
        while True:
            job = self.vm.do("query-jobs")[0]
            if job["status"] == "concluded":
                self.vm.do("job-dismiss", id=job["id"])
                return str(job.get("error", ""))

    def _job(self, name: str, tag: str) -> str:
        self.vm.do(name, **{"job-id": "job", "tag": tag, "vmstate": "disk", "devices": ["disk"]})
        return self._ended()

    def save(self, tag: str) -> None:
        """It must succeed."""
        said = self._job("snapshot-save", tag)
        self.check.want(not said, f"{tag} is not saved: {said}")

    def load(self, tag: str) -> None:
        """It must succeed."""
        said = self._job("snapshot-load", tag)
        self.check.want(not said, f"{tag} is not loaded: {said}")

    def refuses(self, tag: str, why: str) -> None:
        """It is not loaded, for a reason (a regular expression) in one line; QEMU may add another line, with the
        section. QEMU 10.2 has the reason in the job's error. The machine has stopped for good."""
        log = Path(self.check.log.name)
        before = log.stat().st_size
        said = self._job("snapshot-load", tag)
        self.check.want(said, f"{tag} is loaded")
        lines = log.read_bytes()[before:].decode().splitlines() or [said]
        self.check.want(re.search(why, lines[0]), f"instead of '{why}' QEMU says {lines}")
        self.check.want(all("error while loading state" in line for line in lines[1:]), f"QEMU says {lines}")

    def run_to(self, symbol: str) -> None:
        """To where the test comes to this symbol the next time."""
        before, self.at = self.at, f"{address_of(symbol):x}"
        if before:
            self.check.want(self.stub.ask(f"z1,{before},1") == "OK", "no breakpoint")
        if before == self.at:  # it is there now, and a breakpoint there would stop it at once
            self.check.want(self.stub.ask("s").startswith("T05"), "no step")
        self.check.want(self.stub.ask(f"Z1,{self.at},1") == "OK", "no breakpoint")
        self.check.want(self.stub.ask("c").startswith("T05"), f"it does not come to {symbol}")

    def passes(self) -> bool:
        """Does the test pass?"""
        if self.at:
            self.stub.ask(f"z1,{self.at},1")
            with contextlib.suppress(OSError):  # the machine runs on, and may have ended before it answers
                self.stub.ask("D")
        else:
            self.vm.do("cont")
        status = proc.wait(self.vm.child)
        if status != PASSED:
            self.check.say(f"status {status}: {(self.check.work / 'serial').read_text(errors='replace')}")
        return status == PASSED


def address_of(symbol: str) -> int:
    """Where it is in the flat kernel."""
    for line in proc.output(["nm", IMAGE]).splitlines():
        address, _, name = line.split()
        if name == symbol:
            return int(address, 16)
    raise AssertionError(symbol)


@dataclass(frozen=True)
class Row:
    """A flat test and the way through it."""

    name: str
    line: str
    cpu: str
    append: str
    points: tuple[str, ...]
    gone: int = 99  # from this point on the second CPU is not there


INIT_POINTS = (
    "ini_start", "smp_init_others", "smp_start", "ini_query", "ini_spin", "smp_init_others", "smp_start", "ini_query",
)
COUNTERS = "EPYC,check=off,pmu=on,+perfctr-core,+perfmon-v2,+amd-lbr-v2,+amd-lbr-pmc-freeze,+ibs"
ROWS = (
    Row("init", "snapshots around INIT of a CPU with a live context", LWP, "test=init cpus=2", INIT_POINTS),
    Row("os-init", "snapshots around INIT of a CPU, whose system switches LWP", OS, "test=init cpus=2 context=os",
        INIT_POINTS),
    Row("unplug", "snapshots before and after a CPU with a live context is taken away", LWP,
        "test=cpu_unplug cpus=2", ("cup_start", "cup_spin", "lwp_touch", "cup_store"), 2),
    Row("lbr", "snapshots while branches are recorded", COUNTERS, "test=pmu_lbr cpus=1",
        ("lbr_back", "lbr_jcc", "lbr_f", "lbr_ud")),
    Row("predictor", "snapshots while branches are predicted", f"{COUNTERS},pmu-predictor=2bit",
        "test=pmu_predictor cpus=1", ("prd_same", "prd_targets", "prd_top")),
    Row("ibs", "snapshots while IBS counts, and of its registers", COUNTERS, "test=pmu_ibs cpus=1",
        ("ibs_3", "ibs_8", "ibs_fill")),
    # A walk through new lines: what the process has loaded behind the snapshot misses again behind loadvm.
    Row("dcache", "snapshots of a program whose data cache misses are counted", CACHES, "test=dcache cpus=1",
        ("dc_stride_1",) * 4),
)


def _words(row: Row, point: int) -> list[str]:
    return ["-smp", "2" if point < row.gone else "1,maxcpus=2", "-append", row.append]


def _tag(point: int) -> str:
    """No number: qcow2 takes that for the snapshot's place in its table."""
    return f"at{point}"


def _way(row: Row, check: Check) -> None:
    """Save at each point, go on to the next, go back."""
    disk = check.work / f"disk-{row.name}"
    machine, before = Snapshots(check, disk, row.cpu, _words(row, 0)), 0
    try:
        for point, symbol in enumerate(row.points):
            machine.run_to(symbol)
            if before < row.gone <= point:
                machine.refuses(_tag(before), CPU_IS_MISSING)
                machine.end()
                machine = Snapshots(check, disk, row.cpu, _words(row, before))
            if point:
                machine.load(_tag(before))
                machine.run_to(symbol)
            machine.save(_tag(point))
            before = point
        check.want(machine.passes(), "saved and gone back at each point, the test does not pass")
    finally:
        machine.end()
    for point, symbol in enumerate(row.points):
        with Snapshots(check, disk, row.cpu, _words(row, point)) as fresh:
            fresh.load(_tag(point))
            check.want(fresh.passes(), f"{symbol}: loaded by a fresh process, the test does not pass")


ONE_CPU = ("-smp", "1,maxcpus=2", "-append", "test=bench cpus=1 rounds=9000 interval=100")
TWO_CPUS = ("-smp", "2", *ONE_CPU[2:])


def _records(machine: Snapshots) -> None:
    """Run until there are more records, and stop."""
    before = machine.vm.cpu("lwp-stat-records")
    machine.vm.do("cont")
    while machine.vm.cpu("lwp-stat-records") == before:
        machine.check.want(machine.vm.child.poll() is None, "the program has ended too soon")
    machine.vm.do("stop")


def _plugged(check: Check) -> None:
    """A snapshot without the CPU that has come meanwhile is loaded: its system knows nothing of that CPU. One with a
    CPU that is not there is refused, until it is there."""
    disk = check.work / "disk-plugged"
    with Snapshots(check, disk, LWP, ONE_CPU) as machine:
        _records(machine)
        machine.save("one")
        check.want(not plug(machine.vm), "a CPU is refused")
        _records(machine)
        machine.save("two")
        for tag in ("two", "one", "two", "one"):
            _records(machine)
            machine.load(tag)
        check.want(machine.passes(), "gone back, the test does not pass")
    for words, tag in ((ONE_CPU, "one"), (TWO_CPUS, "one"), (TWO_CPUS, "two")):
        with Snapshots(check, disk, LWP, words) as fresh:
            fresh.load(tag)
            check.want(fresh.passes(), f"{words[1]}, {tag}: loaded by a fresh process, the test does not pass")
    with Snapshots(check, disk, LWP, ONE_CPU) as fresh:
        fresh.refuses("two", CPU_IS_MISSING)


UNLIKE = (
    (f"{LWP},lwp-rev=2007", "source has lwp-rev=43724, this host 2007: start both with the same"),
    (OS, "source has lwp-context=auto, this host os: start both with the same"),
    ("EPYC,check=off", "section or instance 'x86-lwp'"),
)


def _unlike(check: Check) -> None:
    """A machine with another LWP refuses a snapshot as it refuses a migration."""
    disk = check.work / "disk-unlike"
    with Snapshots(check, disk, LWP, ONE_CPU) as machine:
        _records(machine)
        machine.save("one")
    for cpu, says in UNLIKE:
        with Snapshots(check, disk, cpu, ONE_CPU) as other:
            other.refuses("one", says)


CHECKS: tuple[tuple[str, str, Callable[[Check], None]], ...] = (
    *((row.name, row.line, partial(_way, row)) for row in ROWS),
    ("plug", "snapshots before and after a CPU is plugged", _plugged),
    ("unlike", "a snapshot of a machine with another LWP is refused", _unlike),
)


def _run(line: str, do: Callable[[Check], None]) -> Callable[[Report], object]:
    return lambda report: report.check(line, do)


def cases() -> list[Case]:
    """A case for each check."""
    return [Case(f"qemu-snapshot-{name}", line, _run(line, do)) for name, line, do in CHECKS]
