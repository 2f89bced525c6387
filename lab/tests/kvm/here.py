# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test kvm --here: the programs of kvm/tests on this machine's own /dev/kvm, and a report of what its
counters do, for who has an AMD machine and wants to send back how LWP does there."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from lab.common.places import HOST
from lab.common.say import Died
from lab.nested.programs import Need, Run

KVM = Path("/dev/kvm")
PARAMETERS = Path("/sys/module/kvm_amd/parameters")
PMUS = Path("/sys/bus/event_source/devices")
INSTALL = "'./vlwp install kvm' installs the modules, and 'modprobe -r kvm_amd kvm; modprobe kvm_amd' loads them"
FACTS = ("vendor_id", "cpu family", "model", "model name", "stepping", "microcode")
PROBE = HOST / "host-tools/vlwp-probe"
TRUTH = {"1": "Y", "0": "N"}


def require() -> None:
    """This machine's KVM has LWP, and we may use it."""
    if not KVM.exists():
        raise Died(f"there is no {KVM}: load kvm_amd, on a machine with SVM")
    if not (PARAMETERS / "lwp").exists():
        raise Died(f"this machine's kvm_amd has no LWP: {INSTALL}")
    if not os.access(KVM, os.R_OK | os.W_OK):
        raise Died(f"{KVM}: no permission; run it as root, or as a user of the group kvm")


def _parameter(name: str, folder: Path = PARAMETERS) -> str:
    """The value of a parameter of kvm_amd, or of a file of the kernel's; "" if it cannot be read."""
    try:
        return (folder / name).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _cpuinfo() -> dict[str, str]:
    """Of the first processor."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", maxsplit=1)[0].splitlines()
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _has() -> set[Need]:
    """What this machine has. Nobody knows how late a real one's counters are."""
    perf = {path.name for path in PMUS.iterdir()}
    flags = _cpuinfo().get("flags", "").split()
    watchdog = _parameter("nmi_watchdog", Path("/proc/sys/kernel")) == "1"
    found = {Need.PMU if "cpu" in perf else Need.NO_PMU, Need.IBS if "ibs_op" in perf else Need.NO_IBS}
    found |= {Need.STEPS} if "cpu" not in perf or _parameter("lwp_source") == "step" else set()
    found |= {Need.SIX} if "cpu" in perf and "perfctr_core" in flags and not watchdog else set()
    return found | ({Need.SHADOW_STACKS} if "user_shstk" in flags else set())


def lacks(run: Run) -> str:
    """What this machine lacks for a run; "": nothing."""
    has = _has()
    for need in run.needs:
        if need not in has:
            return need.value
    if run.smp > (os.cpu_count() or 1):
        return f"{run.smp} processors"
    for word in run.kvm_amd.split():
        name, _, value = word.partition("=")
        if _parameter(name) not in (value, TRUTH.get(value)):
            return f"kvm_amd loaded with {word}"
    return ""


def _kernel_log() -> list[str]:
    """What the kernel has said of LWP since it was started; empty if this user must not read it."""
    done = subprocess.run(["dmesg"], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if "LWP" in line]


def _processor() -> list[str]:
    found = _cpuinfo()
    return [f"{name:<15}{found[name]}" for name in FACTS if name in found]


def _probe() -> list[str]:
    """What vlwp-probe finds of the counters, or why it does not."""
    done = subprocess.run([PROBE, "--quick"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return [f"    {line}" for line in done.stdout.splitlines()]


def page(results: list[str]) -> list[str]:
    """The report: what machine this is, what its counters do, and every test."""
    names = sorted(path.name for path in PARAMETERS.glob("lwp*"))
    parameters = " ".join(f"{name}={value}" for name in names if (value := _parameter(name)))
    log = _kernel_log() or ["(nothing, or this user must not read the kernel's log)"]
    lines = ["---- LWP under KVM on this machine ----", *_processor()]
    lines += [f"{'kernel':<15}{os.uname().release}", f"{'kvm_amd':<15}{parameters}", "the kernel's log:"]
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
