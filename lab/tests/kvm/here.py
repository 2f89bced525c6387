# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test kvm --here: the programs of kvm/tests on this machine's own /dev/kvm, and a report of what its
counters do, for who has an AMD machine and wants to send back how LWP does there."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from lab.common.kit import machine
from lab.common.places import HOST
from lab.common.say import Died
from lab.nested.programs import Run

KVM = Path("/dev/kvm")
INSTALL = "'./vlwp install kvm' installs the modules, and 'modprobe -r kvm_amd kvm; modprobe kvm_amd' loads them"
PROBE = HOST / "host-tools/vlwp-probe"
TRUTH = {"1": "Y", "0": "N"}


def require() -> None:
    """This machine's KVM has LWP, and we may use it."""
    if not KVM.exists():
        raise Died(f"there is no {KVM}: load kvm_amd, on a machine with SVM")
    if not (machine.PARAMETERS / "lwp").exists():
        raise Died(f"this machine's kvm_amd has no LWP: {INSTALL}")
    if not os.access(KVM, os.R_OK | os.W_OK):
        raise Died(f"{KVM}: no permission; run it as root, or as a user of the group kvm")


def lacks(run: Run) -> str:
    """What this machine lacks for a run; "": nothing."""
    if lack := machine.lacks(run.lacking(), run.smp):
        return lack
    for word in run.kvm_amd.split():
        name, _, value = word.partition("=")
        if machine.value(machine.PARAMETERS / name) not in (value, TRUTH.get(value)):
            return f"kvm_amd loaded with {word}"
    return ""


def _kernel_log() -> list[str]:
    """What the kernel has said of LWP since it was started; empty if this user must not read it."""
    done = subprocess.run(["dmesg"], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if "LWP" in line]


def _probe() -> list[str]:
    """What vlwp-probe finds of the counters, or why it does not."""
    done = subprocess.run([PROBE, "--quick"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return [f"    {line}" for line in done.stdout.splitlines()]


def page(results: list[str]) -> list[str]:
    """The report: what machine this is, what its counters do, and every test."""
    log = _kernel_log() or ["(nothing, or this user must not read the kernel's log)"]
    lines = ["---- LWP under KVM on this machine ----", *machine.described()]
    lines += [f"{'kvm_amd':<15}{machine.parameters()}", "the kernel's log:"]
    lines += [f"    {re.sub(r'^.*?(kvm_amd|kvm-amd|LWP)', lambda m: m[1], line)}" for line in log]
    return [*lines, "its counters:", *_probe(), "tests:", *results, "---- end ----"]


class Page:
    """What pytest tells of each program, and the report after all of them."""

    def __init__(self) -> None:
        self.results: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A program has ended, or was not started."""
        if report.when != "call" and report.passed:
            return
        properties: list[tuple[str, Any]] = report.user_properties
        passed, failed, _ = next((value for name, value in properties if name == "points"), (0, 0, 0))
        words = f"{passed} passed, {failed} failed" + (", not as it should be" if report.failed and not failed else "")
        if report.skipped and isinstance(report.longrepr, tuple):
            words = report.longrepr[2].replace("Skipped", "skipped")
        self.results.append(f"    {report.nodeid.partition('[')[2].removesuffix(']'):<24}{words}")
        notes = [f"        {value.removeprefix('# ')}" for name, value in properties if name == "tell"]
        bad = [f"        {line}" for line in re.findall(r"not ok .*", report.longreprtext)]
        self.results += [*dict.fromkeys(bad), *notes]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The page."""
        for line in page(self.results):
            terminalreporter.write_line(line)
