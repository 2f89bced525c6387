# SPDX-License-Identifier: GPL-2.0-or-later
"""This machine, as far as the tests of LWP under KVM want to know it."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

PARAMETERS = Path("/sys/module/kvm_amd/parameters")
PMUS = Path("/sys/bus/event_source/devices")
WATCHDOG = Path("/proc/sys/kernel/nmi_watchdog")
FACTS = ("vendor_id", "cpu family", "model", "model name", "stepping", "microcode")
CORRECTIONS = Path("/sys/kernel/debug/kvm/lwp/row")  # what KVM does with each event; for root, where debugfs is mounted
COUNTED = ("\ninstructions: counted\n", "\nbranches: counted")
# What a kernel says that is not well, as lab/nested/in-l1.sh has it.
COMPLAINT = re.compile(
    r"BUG:|WARNING:|Oops|general protection|self-detected stall|INFO: .*(stall|blocked)|UBSAN:|refcount_t:"
)


def value(file: Path) -> str:
    """A file of the kernel's; "" if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def cpuinfo() -> dict[str, str]:
    """Of the first processor."""
    lines = value(Path("/proc/cpuinfo")).split("\n\n", maxsplit=1)[0].splitlines()
    return {name.strip(): said.strip() for name, _, said in (line.partition(":") for line in lines)}


def described() -> list[str]:
    """The processor and the kernel, a line each fact."""
    found = {**cpuinfo(), "kernel": os.uname().release}
    return [f"{name:<15}{found[name]}" for name in (*FACTS, "kernel") if name in found]


def parameters() -> str:
    """LWP's of kvm_amd."""
    files = sorted(PARAMETERS.glob("lwp*"))
    return " ".join(f"{file.name}={said}" for file in files if (said := value(file)))


def has() -> set[str]:
    """Which needs of the rows it fulfils, by their names. Nobody knows how late a real one's counters are."""
    perf = {path.name for path in PMUS.iterdir()}
    flags = cpuinfo().get("flags", "").split()
    found = {"PMU" if "cpu" in perf else "NO_PMU"} | ({"IBS"} if "ibs_op" in perf else set())
    corrections = value(CORRECTIONS)
    found |= {"RIGHT"} if all(line in corrections for line in COUNTED) else set()
    found |= {"STEPS"} if "cpu" not in perf or value(PARAMETERS / "lwp_source") == "step" else set()
    found |= {"SIX"} if "cpu" in perf and "perfctr_core" in flags and value(WATCHDOG) != "1" else set()
    return found | ({"SHADOW_STACKS"} if "user_shstk" in flags else set())


def lacks(needs: Iterable[tuple[str, str]], smp: int) -> str:
    """What it lacks for a row with such needs, name and text, and so many processors; "": nothing."""
    found = has()
    for name, text in needs:
        if name not in found:
            return text
    return f"{smp} processors" if smp > (os.cpu_count() or 1) else ""
