# SPDX-License-Identifier: GPL-2.0-or-later
"""What LWP, and the fixes of QEMU in front of it, cost under TCG: one load of the test kernel in several
configurations, taking turns. Of loads on several vCPUs it says how often all others had to wait for one, which the
patched emulator tells after one more run."""

import os
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from lab.benches.output import Value
from lab.benches.ratios import Row
from lab.building import meson, qemu
from lab.common import places, proc
from lab.common.say import Died
from lab.common.steps import step
from lab.testing.suite import IMAGE, PASSED, Row as Machine

TITLE = "CPU time without the boot; ratio to unpatched QEMU in the same turn"
PLUGIN = "tests/tcg/plugins/libinsn.so"
CACHE = "contrib/plugins/libcache.so"
ROUNDS = 60000
LWP = "+lwp"
CACHES = f"{LWP},lwp-dme=on"
NULL = subprocess.DEVNULL
COUNTERS = "check=off,pmu=on,+perfctr-core,+perfmon-v2,+amd-lbr-v2,+ibs"


@dataclass(frozen=True)
class Way:
    """A configuration. The first of a group is unpatched QEMU, with which the others are compared."""

    name: str
    cpu: str = LWP
    args: str = ""  # for the test
    patched: bool = True
    part: int = 1  # of the rounds: one in so many, because each takes long
    plugin: str = ""  # of the unpatched emulator, with its arguments
    cpus: int = 1
    icount: bool = False


def _unpatched(name: str, args: str = "", **more: int | str) -> Way:
    return Way(name, "", args, False, **more)  # type: ignore[arg-type]


def _load(name: str, args: str, cpus: int, **ways: tuple[str, str]) -> tuple[Way, ...]:
    """A load on unpatched QEMU, and the names, processors and more words of others."""
    others = (Way(f"{name}, {way}", cpu, args + words, cpus=cpus) for way, (cpu, words) in ways.items())
    return _unpatched(f"{name}, unpatched", args, cpus=cpus), *others


def _records(name: str, event: str, *intervals: int) -> tuple[Way, ...]:
    return tuple(
        Way(f"{name}, interval {interval}", args=f"interval={interval}{event}", part=4 if interval == 100 else 1)
        for interval in intervals
    )


def _code_written(cpus: int) -> tuple[Way, ...]:
    name = f"code written, {cpus} vCPU{'s' if cpus > 1 else ''}"
    return _load(name, "jit=1", cpus, patched=(LWP, ""), profiled=(LWP, " interval=997"))


GROUPS: tuple[tuple[Way, ...], ...] = (
    (
        _unpatched("unpatched QEMU"),
        Way("patched, without lwp", ""),
        Way("lwp present, off"),
        *_records("instructions", "", 1000000, 10000, 1000, 100),
        *_records("branches", " event=3", 1000000, 10000, 1000, 100),
        Way("branches, each", args="interval=1 event=3", part=16),
        *_records("both", " event=5", 1000000, 10000, 1000),
        _unpatched("unpatched, insn plugin inline", plugin=f"{PLUGIN},inline=on"),
        _unpatched("unpatched, insn plugin callback", part=16, plugin=f"{PLUGIN},inline=off"),
        Way("caches present, off", CACHES),
        Way("data cache misses, interval 1009", CACHES, "interval=1009 event=4"),
        _unpatched("unpatched, cache plugin", part=64, plugin=CACHE),
        Way("counters present, off", COUNTERS),
        Way("a counter of instructions", COUNTERS, "counter=192"),
        Way("a counter of branches", COUNTERS, "counter=194"),
        Way("last branches", COUNTERS, "lbr=1"),
    ),
    # 10,001 instructions are a 64th of a pass: in each the same 64 are due, or some in 64 other loops.
    _load("code of 10,000 loops", "spread=1", 1,
          **{"64 due addresses": (LWP, " interval=10001"), "10,000 due addresses": (LWP, " interval=10002")}),
    (
        _unpatched("icount, unpatched QEMU", icount=True),
        Way("icount, lwp present, off", icount=True),
        Way("icount, interval 1000000", args="interval=1000000", icount=True),
    ),
    _load("stores beside code", "beside=1", 2, patched=("", "")),
    *(
        _load(f"{number} thread{'s' if number > 1 else ''}", f"threads={number}", 1,
              profiled=(LWP, " interval=1000000"))
        for number in (1, 100, 1000)
    ),
    *(_code_written(cpus) for cpus in (1, 2, 4)),
)


def _command(way: Way, rounds: int) -> list[str]:
    emulator = places.qemu() if way.patched else places.qemu_base()
    row = Machine("bench", way.cpu, f"rounds={rounds} {way.args}".strip(), cpus=way.cpus)
    words = ["-plugin", f"{qemu.out_dir('base')}/{way.plugin}"] if way.plugin else []
    words += ["-icount", "shift=0"] if way.icount else []
    return [*row.command(emulator, IMAGE, "tcg", places.FIRMWARE), *words]


def _ended(way: Way, status: int) -> None:
    if status != PASSED:
        raise Died(f"'{way.name}' does not run: it ends with status {status}")


def _run(way: Way, rounds: int) -> float:
    """CPU time, user and system, in seconds."""
    child = proc.start(_command(way, rounds), stdin=NULL, stdout=NULL, stderr=NULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    _ended(way, proc.wait(child))
    return float(usage.ru_utime + usage.ru_stime)


def _measure(way: Way, rounds: int) -> float:
    """Seconds of the whole load, without the boot."""
    fewer = max(1, rounds // way.part)
    return (_run(way, fewer + 1) - _run(way, 1)) * rounds / fewer


def _times_alone(way: Way, rounds: int) -> int:
    """How often a vCPU ran alone in one run. The machine stops where the guest ends."""
    ours, theirs = socket.socketpair()
    words = ["-action", "shutdown=pause", "-chardev", f"socket,id=control,fd={theirs.fileno()}"]
    child = proc.start(
        [*_command(way, rounds), *words, "-mon", "chardev=control,mode=control"],
        pass_fds=[theirs.fileno()], stdin=NULL, stdout=NULL, stderr=NULL,
    )
    theirs.close()
    times, asked = 0, False
    with ours, ours.makefile("r", encoding="utf-8") as monitor:
        ours.sendall(b'{"execute": "qmp_capabilities"}\n')
        for line in monitor:
            if '"SHUTDOWN"' in line and not asked:  # quit is one, too, after which nothing is read any more
                asked = True
                ours.sendall(b'{"execute": "x-query-jit"}\n')
            elif "Instructions alone " in line:
                times = int(line.partition("Instructions alone ")[2].split("\\n")[0])
                ours.sendall(b'{"execute": "quit"}')  # no end of line, which would lie there unread, too
    _ended(way, proc.wait(child))
    return times


def _wanted(group: Sequence[Way], only: str) -> Sequence[Way]:
    """Those whose names have the text, and what they are compared with."""
    chosen = [way for way in group[1:] if only in way.name]
    return [group[0], *chosen] if chosen or only in group[0].name else []


def measure(turns: int, rounds: int, only: str) -> list[dict[str, Value]]:
    """Run all configurations, or those that only names and what they are compared with."""
    step("building the plugins to compare with", "bench-plugin", meson.ninja(qemu.out_dir("base"), PLUGIN, CACHE))
    groups = [[(way, Row(way.name)) for way in _wanted(group, only)] for group in GROUPS]
    for _ in range(turns):
        for group in groups:
            base = 0.0
            for way, row in group:
                seconds = _measure(way, rounds)
                base = base or seconds
                row.add(seconds, base)
    for group in groups:
        for way, row in group:
            if way.patched and way.cpus > 1 and "jit=1" in way.args:
                row.alone = _times_alone(way, rounds) / float(row.values()["seconds"])
    return [row.values() for group in groups for _, row in group]
