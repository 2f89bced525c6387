# SPDX-License-Identifier: GPL-2.0-or-later
"""vlwp-probe, on the kernel's own KVM and a processor whose counters are as wrong as a row says: the probe finds the
row again, or says what it does not know."""

import json
import random
import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from lab.common.places import HOST
from lab.nested.l1 import L1
from lab.tests.kvm.conftest import InL1
from lab.tests.plugin import Tell

PROBE = HOST / "host-tools/vlwp-probe"
LAB = L1(smp=2, cpu="EPYC", stock=True, limit=1500, kernel_args="nmi_watchdog=0")
EVENTS = ("insns", "branches", "far")
EXITS = ("cpuid", "hlt", "out", "npf", "intr", "nmi", "step", "bp")
PLACES = (*EXITS, "pf", "intn", "iret", "syscall", "sysret", "inject", "rep", "lock")
CONSTANT = ("out", "intn", "syscall")  # what is subtracted from others
RIGHT = ("rep", "lock")  # where TCG never counts too much


def drawn(seed: int, ipc: int) -> str:
    """A row, with so many instructions in a cycle."""
    draw = random.Random(seed)
    items = []
    for event in EVENTS:
        for place in PLACES:
            least = 0 if place in RIGHT else draw.choice((0, 0, draw.randint(1, 40)))
            most = least if place in (*CONSTANT, *RIGHT) else draw.choice((least, least, least + draw.randint(1, 3)))
            items.append(f"{event}.{place}={least}" + (f"/{most}" if most > least else ""))
    late = sorted(draw.randint(0, 3000) for _ in range(6))
    items.append("late=" + "/".join(map(str, draw.choice((late, late[:1] * 6)))))
    items.append(f"rate={1000 * ipc}")
    items += [f"lost={draw.randint(8, 20)}"] * draw.randint(0, 1)
    draw.shuffle(items)
    return ",".join(items)


def items_of(row: str) -> dict[str, str]:
    """By name, the exits apart."""
    found = dict(item.split("=", 1) for item in row.split(","))
    for event in EVENTS:
        if f"{event}.entry" in found:
            found |= dict.fromkeys((f"{event}.{place}" for place in EXITS), found.pop(f"{event}.entry"))
    return found


def numbers(text: str) -> list[int]:
    """Of a place or a lateness."""
    return [int(number) for number in text.split("/")]


def differences(planted: dict[str, str], found: dict[str, str]) -> list[str]:
    """What the probe says and what is not so."""
    wrong = []
    for name in (f"{event}.{place}" for event in EVENTS for place in PLACES):
        says = found.get(name, "0")
        if says != "?" and any(abs(numbers(says)[at] - numbers(planted[name])[at]) > 1 for at in (0, -1)):
            wrong.append(f"{name}: {says}, not {planted[name]}")
    late, is_late = numbers(found["late"]), numbers(planted["late"])
    rate, is_rate = int(found["rate"]), int(planted["rate"])
    lost, is_lost = int(found.get("lost", 0)), int(planted.get("lost", 0))
    right = {
        "late": late[0] >= is_late[0] - 1 and late[-1] <= is_late[-1] + 1,
        "rate": abs(rate - is_rate) <= is_rate / 100,
        "lost": is_lost / 2 <= lost <= is_lost * 2,  # by chance
    }
    return wrong + [f"{name}: {found.get(name)}, not {planted.get(name)}" for name in right if not right[name]]


def plant(door: Path, row: str) -> None:
    """From now on the counters are so."""
    argument = {"path": "/objects/row", "property": "row", "value": row}
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.connect(str(door))
        with monitor.makefile("rw", encoding="utf-8") as lines:
            lines.readline()  # the greeting
            for command, arguments in (("qmp_capabilities", {}), ("qom-set", argument)):
                print(json.dumps({"execute": command, "arguments": arguments}), file=lines, flush=True)
                while "event" in (answer := json.loads(lines.readline())):
                    pass
                assert "return" in answer, answer


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the machine's monitor; one for all tests, which share the machine."""
    return tmp_path_factory.mktemp("probe") / "qmp"


@pytest.mark.parametrize("draws", [2, pytest.param(200, marks=pytest.mark.soak)])
def test_planted(in_l1: InL1, door: Path, seed: int, tell: Tell, draws: int) -> None:
    """The probe finds each planted number within one, or says that it does not know it."""
    ipc = random.Random(seed).randint(1, 4)
    devices = ["-object", f"x-x86-pmu-row,id=row,ipc={ipc}", "-qmp", f"unix:{door},server=on,wait=off"]
    lab = replace(LAB, cpu="EPYC,pmu=on,perfctr-core=on", devices=devices)
    assert in_l1(lab, ["true"]).status == 0
    for number in range(seed, seed + draws):
        planted = drawn(number, ipc)
        tell(planted)
        plant(door, planted)
        done = in_l1(lab, [PROBE, "--quick"])
        last = done.said.splitlines()[-1]
        assert done.status == 0 and last.startswith("row: ")
        found = items_of(last.removeprefix("row: "))
        unknown = [name for name, says in found.items() if says == "?"]
        assert not differences(items_of(planted), found)
        tell(f"not known: {' '.join(unknown) or 'nothing'}")
        assert len(unknown) < len(PLACES)


def test_missing(in_l1: InL1) -> None:
    """Without counters, without /dev/kvm the probe says in one line what is missing and what to do."""
    script = f"{PROBE} || echo $?; rm /dev/kvm; {PROBE} || echo $?; mknod /dev/kvm c 10 232"
    lines = in_l1(LAB, ["sh", "-c", script]).said.splitlines()
    assert [line for line in lines if line == "1"] == ["1", "1"] and len(lines) == 4
    assert "perf does not count guests" in lines[0] and "/dev/kvm: No such file" in lines[2]
    assert all("; nothing was measured" in line for line in lines[::2])


def test_disturbed(in_l1: InL1, tell: Tell) -> None:
    """The probe tells of a running watchdog and of work on the other half of its core, and measures; samples of IBS lie
    in the guest as often as is due, or perf has throttled them and it says so."""
    lab = replace(LAB, cpu="EPYC,pmu=on,topoext=on,ibs=on", devices=["-smp", "2,threads=2"], kernel_args="")
    script = f"""cd /proc/sys/kernel; echo 100 >perf_event_max_sample_rate; {PROBE} --quick >/dev/null; echo so far
echo 100000 >perf_event_max_sample_rate; echo 0 >perf_cpu_time_max_percent
echo 1 >watchdog; echo 1 >nmi_watchdog
taskset -c 1 sh -c 'while :; do :; done' & taskset -c 0 {PROBE} --quick; kill $!"""
    throttled, _, said = in_l1(lab, ["sh", "-c", script]).said.partition("so far\n")
    assert throttled.startswith("vlwp-probe: perf throttled the samples of IBS")
    assert said.count("vlwp-probe: ") == 2
    assert "the NMI watchdog has a counter" in said and "CPU 1 shares a core with CPU 0 and was busy" in said
    found = re.search(r"^IBS counts across VMRUN: (\d+) samples of the guest, (\d+) are due$", said, re.MULTILINE)
    assert found and int(found[2]) == 256
    tell(found[0])
    assert int(found[2]) / 2 <= int(found[1]) <= int(found[2]) * 2
