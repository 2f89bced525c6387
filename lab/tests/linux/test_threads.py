# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of several threads: lwprun without a library, a program that profiles itself, and a processor that goes."""

import re
import subprocess
from pathlib import Path
from typing import Any

from lab.common import proc
from lab.common.places import HOST, LINUX_PROGRAMS, LWPCTL, LWPRUN
from lab.common.qmp import Monitor
from lab.guest.vm import GUEST_SHARE, run_directory, vmrun
from lab.nested import machine
from lab.tests.conftest import good, run
from lab.tests.linux.tools import VLWP, parted

FOLLOWED, STATIC = LINUX_PROGRAMS / "followed", LINUX_PROGRAMS / "followed_static"
EVENT = "instructions:1009"
WORK = 6_000_000  # instructions of each function of the program
# lwprun is told to end before the program is.
ATTACH = """
"$1" 0 >/tmp/out & program=$!
until grep -q ready /tmp/out; do sleep 0.1; done
"$2" -q --pid "$program" -e "$3" -m 4M -o "$VLWP_SHARE/lwp.data" & lwprun=$!
until grep -q "TracerPid:.*$lwprun" "/proc/$program/status"; do sleep 0.1; done
sleep 1; kill -TERM "$lwprun"; wait "$lwprun"; echo "lwprun $?"
grep TracerPid "/proc/$program/status"
kill -TERM "$program"; wait "$program"; echo "status $?"; cat /tmp/out
"$4" report --json "$VLWP_SHARE/lwp.data"
"""


def samples(report: dict[str, Any]) -> dict[str, int]:
    """Of the functions of the program that work."""
    rows = report["events"][0]["symbols"]
    return {row["symbol"]: row["samples"] for row in rows if row["symbol"].startswith("work_")}


def test_followed_static(tmp_path: Path) -> None:
    """A static program is profiled with its thread, its child and what it executes.

    Each function has its instructions, in a thread or process of its own, and what the program sees is right."""
    options = [f"--lwprun=--event={EVENT}", f"--data={tmp_path}/lwp.data", "--report=--json"]
    ended = run([VLWP, "run", *options, "--", STATIC])
    assert ended.status == 5
    report = parted(ended.out)[0]
    found = samples(report)
    assert len(found) == 4 and all(abs(number * 1010 - WORK) < WORK / 20 for number in found.values()), found
    assert len(report["programs"]) == 3 and len(report["threads"]) == 4


def test_followed_attached() -> None:
    """A process that runs already is profiled, and continues without lwprun.

    It has two threads, whose counters are exact at the end."""
    text = good([VLWP, "shell", "--", "/bin/sh", "-c", ATTACH, "-", FOLLOWED, LWPRUN, EVENT, LWPCTL])
    for line in ("lwprun 0", "TracerPid:\t0", "status 0", "told to end"):
        assert line in text
    report = parted(text)[0]
    found = samples(report)
    assert min(found["work_main"], found["work_thread"]) > 100, found
    counters = [thread["counters"][0] for thread in report["threads"]]
    assert len(counters) == 2 and all("final" in counter for counter in counters), counters


SELFPROFILE = HOST / "guest-tools/selfprofile"
RECORD = re.compile(r"^(\w+): event +(\d+) at 0x[0-9a-f]+ flags (\w+) data1 (\d+) data2 (\d+)\r?$", re.MULTILINE)
VALUE, INSTRUCTION, INSERTED = "1", "2", "255"
BEGINS = {"first": 0, "second": 100000}
PHASES, PHASE_VALUES = 3, 20000
LEAST, MOST = 3, 30  # instructions of a turn: a test, a branch, a sum; compiled without optimisation
PER_RECORD = 1_000_000  # instructions


def collatz_steps(n: int) -> int:
    """What the example computes."""
    steps = 0
    while n != 1:
        n, steps = 3 * n + 1 if n % 2 else n // 2, steps + 1
    return steps


def test_selfprofile() -> None:
    """The example that people copy (guest-tools/examples/selfprofile.c) has the records of each of its threads.

    Each has marks of its phases, the 1st and the 10,001st of the 20,000 values in each of these, and a record for each
    million instructions; a turn of its loop takes some."""
    text = good([VLWP, "shell", "--", SELFPROFILE])
    for name, begin in BEGINS.items():
        assert re.search(rf"^{name}: missed events: 0\r?$", text, re.MULTILINE)
        found: dict[str, list[tuple[str, int, int]]] = {VALUE: [], INSTRUCTION: [], INSERTED: []}
        for event, flags, data1, data2 in (record[1:] for record in RECORD.findall(text) if record[0] == name):
            found[event].append((flags, int(data1), int(data2)))
        assert found[INSERTED] == [("0x1000", 0, phase) for phase in range(PHASES)]
        assert found[VALUE] == [("0x2000", n, collatz_steps(begin + n)) for n in (1, 10001)] * PHASES
        turns = PHASES * sum(collatz_steps(begin + n) for n in range(1, PHASE_VALUES + 1))
        assert LEAST <= len(found[INSTRUCTION]) * PER_RECORD / turns <= MOST


def test_selfprofile_refuses() -> None:
    """The example says in one line that there is no LWP, and does not try the instructions."""
    ended = run([VLWP, "shell", "--cpu=-lwp", "--", SELFPROFILE])
    assert ended.status == 77 and "selfprofile: this processor does not offer LWP" in ended.said


TURNS = 2
SECOND = "EPYC-x86_64-cpu,id=more,socket-id=1,core-id=0,thread-id=0"


def turn(monitor: Monitor, wants: str) -> None:
    """What the program wants. No context is lost by it."""
    if wants == "plug":
        assert len(monitor.do("query-cpus-fast")) == 1, "the processor has not gone"
        monitor.plug()
    else:
        monitor.do("device_del", id="more")
    for how in ("dropped", "evicted", "unreadable"):
        assert monitor.stat(f"contexts-{how}", "vm") == 0, how


def test_plug() -> None:
    """A processor comes and goes (ACPI) while a threaded program is profiled (plug.c), which says when.

    Each round of each thread is complete. The guest begins with both processors: this Linux leaves no room for one that
    is not there when it boots."""
    monitor, turns = Monitor(), 0
    with run_directory() as place:
        command = machine.qemu_command(machine.Machine(smp=1), place)
        command[command.index("-smp") + 1] = "1,maxcpus=2,sockets=2"
        line = vmrun(place, [*command, "-device", SECOND, *monitor.words], [str(LINUX_PROGRAMS / "plug")])
        child = proc.start(
            line, env={"VLWP_SHARE": GUEST_SHARE}, as_user=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True, pass_fds=monitor.passed,
        )
        try:
            assert child.stdout
            monitor.accept()
            for text in child.stdout:
                print(text, end="")
                if text in ("plug\n", "unplug\n"):
                    turn(monitor, text.rstrip())
                    turns += text == "unplug\n"
            status = proc.wait(child)
        finally:
            proc.end(child)
            monitor.close()
    assert (status, turns) == (0, TURNS)
