# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test kvm --here: the programs of kvm/tests on this machine's own /dev/kvm, and a report of what its
counters do, for who has an AMD machine and wants to send back how LWP does there."""

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lab.building import tools
from lab.common import proc
from lab.common.report import Report
from lab.common.say import Died
from lab.nested import programs, tap
from lab.nested.programs import Run
from lab.testing.part import Case, Part, quoted

KVM = Path("/dev/kvm")
PARAMETERS = Path("/sys/module/kvm_amd/parameters")
INSTALL = "'./vlwp install kvm' installs the modules, and 'modprobe -r kvm_amd kvm; modprobe kvm_amd' loads them"
FACTS = ("vendor_id", "cpu family", "model", "model name", "stepping", "microcode")
# What only an emulated processor has: interrupts that come late by a known number, overcounts, other models.
EMULATED = re.compile(r",(pmu-\w+|family)=")
TRUTH = {"1": "Y", "0": "N"}


def _require() -> None:
    """This machine's KVM has LWP, and we may use it."""
    if not KVM.exists():
        raise Died(f"there is no {KVM}: load kvm_amd, on a machine with SVM")
    if not (PARAMETERS / "lwp").exists():
        raise Died(f"this machine's kvm_amd has no LWP: {INSTALL}")
    if not os.access(KVM, os.R_OK | os.W_OK):
        raise Died(f"{KVM}: no permission; run it as root, or as a user of the group kvm")


def _parameter(name: str) -> str:
    """The value of a parameter of kvm_amd; "" if it cannot be read."""
    try:
        return (PARAMETERS / name).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _lacks(run: Run) -> str:
    """What this machine lacks for a run; "": nothing."""
    if emulated := EMULATED.search(run.cpu):
        return f"a processor with {emulated[0][1:]}, which is emulated in the nested lab"
    if run.result == "exits":
        return "the kernel's own modules to compare with"
    for word in run.kvm_amd.split():
        name, _, value = word.partition("=")
        if _parameter(name) not in (value, TRUTH.get(value)):
            return f"kvm_amd loaded with {word}"
    return ""


def _runs() -> list[Run]:
    """Each program's runs. How late interrupts come is measured, with whatever processor there is."""
    kernel = ".".join(os.uname().release.split(".")[:2])
    return [replace(run, cpu="") if run.program == "kvm_lateness" else run for run in programs.runs(kernel)]


class _Result:
    """What the report says of one run."""

    def __init__(self, name: str, words: str, notes: Sequence[str] = ()):
        self.name, self.words, self.notes = name, words, notes


class KvmHere(Part):
    """The programs of kvm/tests, one after the other, and the report."""

    name = "kvm"

    def __init__(self) -> None:
        self.results: list[_Result] = []

    def prepare_names(self) -> None:
        tools.build()

    def prepare(self) -> None:
        _require()

    def cases(self) -> list[Case]:
        return [Case(run.name, run.line, self._case(run), quoted(tap.command(run))) for run in _runs()]

    def run(self, cases: Sequence[Case], report: Report) -> None:
        for case in cases:
            case.go(report)
        for line in _page(self.results):
            report.line(line)

    def _case(self, run: Run) -> Callable[[Report], None]:
        return partial(self._run, run)

    def _run(self, run: Run, report: Report) -> None:
        if lack := _lacks(run):
            report.skip(f"{run.title}: needs {lack}")
            self.results.append(_Result(run.title, f"skipped: needs {lack}"))
            return
        log = report.work / "log"
        with log.open("wb") as out:
            command = tap.command(run)
            status = proc.call(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        found = tap.read(log.read_text(encoding="utf-8", errors="replace"))
        tap.judge(report, run.title, log, status)
        words = f"{found.passed} passed, {found.failed} failed" + ("" if found.complete else ", ended early")
        failed = [line for line in found.shown if line.startswith("not ok ")]
        self.results.append(_Result(run.title, words, [*failed, *found.notes]))


def _kernel_log() -> list[str]:
    """What the kernel has said of LWP since it was started; empty if this user must not read it."""
    done = subprocess.run(["dmesg"], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if "LWP" in line]


def _processor() -> list[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", maxsplit=1)[0].splitlines()
    pairs = [line.partition(":") for line in lines]
    found = {name.strip(): value.strip() for name, _, value in pairs}
    return [f"{name:<15}{found[name]}" for name in FACTS if name in found]


def _page(results: Sequence[_Result]) -> list[str]:
    """The report: what machine this is, what KVM has measured, and every test."""
    names = sorted(path.name for path in PARAMETERS.glob("lwp*"))
    parameters = " ".join(f"{name}={value}" for name in names if (value := _parameter(name)))
    log = _kernel_log() or ["(nothing, or this user must not read the kernel's log)"]
    lines = ["", "---- LWP under KVM on this machine ----", *_processor()]
    lines += [f"{'kernel':<15}{os.uname().release}", f"{'kvm_amd':<15}{parameters}", "the kernel's log:"]
    lines += [f"    {re.sub(r'^.*?(kvm_amd|kvm-amd|LWP)', lambda m: m[1], line)}" for line in log]
    lines.append("tests:")
    for result in results:
        lines.append(f"    {result.name:<24}{result.words}")
        lines += [f"        {note.removeprefix('# ')}" for note in result.notes]
    return [*lines, "---- end ----"]


PART = KvmHere()
