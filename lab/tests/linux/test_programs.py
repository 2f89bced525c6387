# SPDX-License-Identifier: GPL-2.0-or-later
"""The test programs of guest-tests/linux, which use LWP or the counters themselves and print TAP. Those that are chosen
run in one guest, one after the other; those that need counters in another."""

import re
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from lab.building import linux
from lab.common import places, proc
from lab.common.places import LINUX_PROGRAMS
from lab.nested import machine
from lab.testing import debug
from lab.testing.suite import read
from lab.tests.conftest import run
from lab.tests.linux.tools import VLWP
from lab.tests.plugin import Points, shows

PROGRAMS = {
    "mlwp": "records of a program that the compiler's intrinsics wrote, gcc -mlwp",
    "sample": "the documented example of the intrinsics prints what its page says",
    "sample_32": "the same in 32 bits",
    "moves": "a thread that moves between two CPUs, of which the other is idle",
    "moves_32": "the same in 32 bits, where no register names the thread",
    "known": "known code in one thread, through faults and signals",
    "segv": "a ring that is taken away while records are due",
    "fork": "the child of a fork has no LWP, the parent's profile is whole",
    "two": "two programs on one CPU, each with a complete profile",
    "threads": "eight threads that move between two CPUs, each with a profile of its own",
    "gs": "threads with GS bases of their own, and one that changes it, as under Wine",
    "links": "calls of another page's code that is changed, mapped elsewhere or taken away",
    "liblwp": "the library: errors, counts, marks, windows, ends of threads and children",
    "liblwp_32": "the same in 32 bits",
    "wait": "the module's eventfd, and the library that waits by it",
    "perf": "Linux's perf on the processor's performance counters",
    "ibs": "perf's samples of ops in a known loop are even, and say what each instruction is",
    "lbr": "perf's branch stacks are stretches of LWP's trace of all branches",
}
COUNTERS = dict.fromkeys(
    ("perf", "ibs", "lbr"), "pmu=on,+perfctr-core,+perfmon-v2,+amd-lbr-v2,+amd-lbr-pmc-freeze,+ibs"
)
# Intel's, in the versions 2, 4 and 5: what Linux says of them at boot.
INTEL = (("Penryn", "Core2 events"), ("Skylake-Client", "Skylake events"), ("SapphireRapids", "Sapphire Rapids events"))
SAMPLE = "{}-bit compiler\n{}{} entries in ring buffer\n{} LWPVAL instructions, {} LWPINS instructions\n".format
NO_VAL = "LWPVAL instruction not supported by the hardware\n"
# What programs print that have no TAP.
PRINTED = {"sample": SAMPLE(64, "", 17, 7, 10), "sample_32": SAMPLE(32, "", 9, 4, 5)}
LESS = {
    "lwp-val=off": SAMPLE(64, NO_VAL, 10, 0, 10) + SAMPLE(32, NO_VAL, 5, 0, 5),
    "-lwp": "LWP is not supported by this hardware\n" * 2,
    "lwp-preset=off": "OS has not made LWP available\n" * 2,
}
CONTEXTS = 10  # that the programs create, at least
LIMIT = 600  # seconds that a program may take
# $0: the folder of the programs; the rest: their names. A result is complete when its status is there.
LOOP = f"""
for name; do
    timeout -k 9 {LIMIT} "$0/test_$name" >"$VLWP_SHARE/$name.out" 2>"$VLWP_SHARE/$name.err"
    echo $? >"$VLWP_SHARE/$name.status"
done
"""

SHELL = ("/bin/sh",)
Booted = Callable[[str], Path]


def program(name: str) -> Path:
    """Where it is."""
    return LINUX_PROGRAMS / f"test_{name}"


def shown(name: str) -> str:
    """Its command line in a guest of its own."""
    cpu = [f"--cpu={COUNTERS[name]}"] if name in COUNTERS else []
    return proc.quoted([VLWP, "shell", *cpu, "--", program(name)])


def of(item: pytest.Item, function: str) -> bool:
    """Is it a test of this function?"""
    return getattr(item, "originalname", "") == function


def with_module() -> Sequence[str]:
    """The shell whose programs know where the guest's module is."""
    return ("/usr/bin/env", f"LWP_MODULE={linux.lwp_module()}", *SHELL)


def leave(guest: machine.Machine, place: Path, names: Sequence[str], shell: Sequence[str] = SHELL) -> None:
    """Run programs in a guest. They leave their results in a folder's share/."""
    (place / "share").mkdir()
    command = [*shell, "-c", LOOP, str(LINUX_PROGRAMS), *names]
    with (place / "log").open("w", encoding="utf-8") as log:
        machine.boot(guest, place, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@pytest.fixture(scope="session")
def booted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Booted:
    """Boots a guest whose processor has these properties, once, and runs the chosen programs that need them. Result:
    the folder with statistics, and a share/ with what each program has left. All run if contexts are counted."""
    items = request.session.items
    chosen = [item.callspec.params["name"] for item in items if of(item, "test_programs")]  # type: ignore
    if any(of(item, "test_contexts") for item in items):
        chosen = list(PROGRAMS)

    @cache
    def boot(cpu: str) -> Path:
        place = tmp_path_factory.mktemp("guest")
        names = [name for name in chosen if COUNTERS.get(name, "") == cpu]
        shell = with_module() if "wait" in names else SHELL
        leave(machine.Machine(cpu=cpu, stats=place / "stats"), place, names, shell)
        return place

    return boot


def judge(said: str, status: int, points: Points) -> None:
    """Every point is ok, and there are as many as it says at its end."""
    tap = read(said)
    points(tap.passed, tap.failed, tap.skipped)
    assert not tap.bail, tap.bail
    assert status != 124, f"no end within {LIMIT} s"
    assert tap.plan == tap.points, f"{tap.points} points, but a plan of {tap.plan}, and status {status}"
    assert (status != 0) == (tap.failed > 0), f"{tap.failed} points failed, but status {status}"
    assert not tap.failed, "\n".join(str(point) for point in tap.told if point.verdict == "not ok")


def judge_left(place: Path, name: str, points: Points) -> None:
    """What a program has left."""
    print((place / "log").read_text(encoding="utf-8", errors="replace"))
    said, errors, status = (place / f"share/{name}.{kind}" for kind in ("out", "err", "status"))
    assert status.is_file() and status.stat().st_size, "the guest has died, or another program in it"
    print(said.read_text(errors="replace"), errors.read_text(errors="replace"))
    if name in PRINTED:
        assert said.read_text(errors="replace") == PRINTED[name]
    else:
        judge(said.read_text(errors="replace"), int(status.read_text()), points)


@shows(lambda name: PROGRAMS[name], shown)
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.xdist_group("counters" if name in COUNTERS else "programs"))
    for name in PROGRAMS
])
def test_programs(name: str, booted: Booted, points: Points, gdb: bool, tmp_path: Path) -> None:
    if gdb:
        (tmp_path / "share").mkdir()
        debug.linux(machine.Machine(smp=1), program(name), tmp_path)
        return
    judge_left(booted(COUNTERS.get(name, "")), name, points)


@pytest.mark.xdist_group("programs")
@pytest.mark.parametrize("how", ["created", "dropped", "evicted", "unreadable"])
def test_contexts(how: str, booted: Booted) -> None:
    """Many threads of the programs are profiled on two processors, and none of their contexts is lost."""
    rows = [line.split() for line in (booted("") / "stats").read_text(encoding="utf-8").splitlines()]
    values = [int(value) for _, name, value in rows if name == f"contexts-{how}"]
    assert len(values) == 1
    assert values[0] >= CONTEXTS if how == "created" else values == [0], f"{how}: {values}"


@pytest.mark.parametrize("model, events", INTEL, ids=[model for model, _ in INTEL])
def test_intel(model: str, events: str, points: Points) -> None:
    """Linux finds Intel's counters, and perf counts and samples with them."""
    script = 'dmesg | grep "Performance Events"; exec "$0"'
    options = [f"--model={model}", "--cpu=pmu=on"]
    ended = run([VLWP, "shell", *options, "--", "/bin/sh", "-c", script, program("perf")])
    assert events in ended.out, f"Linux does not say {events}"
    judge(ended.out, ended.status, points)


EVENTS = ("cycles instructions cache-references cache-misses branches branch-misses bus-cycles ref-cycles "
          "stalled-cycles-frontend stalled-cycles-backend").split()
EVENTS += [f"{cache}-{kind}" for cache in ("L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node")
           for kind in ("loads", "load-misses", "stores", "store-misses", "prefetches", "prefetch-misses")]
# Unit mask and event, as Linux programs them, of those that have no model: stalls, prefetches, L1I, dTLB, iTLB.
AMD = "0287 0187 ff5a 0081 ff45 f045 0084 ff85"
MODELS = "pmu=on,+perfctr-core,+ibs,ibs-cache=on"


@pytest.mark.parametrize("model, cpu, zeros", [
    pytest.param("EPYC", "pmu=on,+perfctr-core", f"{AMD} ff60 0964 c860 00c3 00c3", id="amd"),
    pytest.param("EPYC", MODELS, AMD, id="models"),
    pytest.param("Skylake-Client", "pmu=on", "81d0 81d0 82d0 82d0 0151 0283 0e08 0e49 2085 0e85 00c5", id="intel"),
])
def test_generic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, cpu: str, zeros: str) -> None:
    """Each generic event of perf counts something, is not supported, or counts 0, and then QEMU says so."""
    emulator, log = tmp_path / "qemu", tmp_path / "unimp"
    emulator.write_text(f'#!/bin/sh\nexec "{places.qemu()}" "$@" -d unimp -D "{log}"\n', encoding="utf-8")
    emulator.chmod(0o755)
    monkeypatch.setenv("VLWP_QEMU", str(emulator))
    script = "for e; do perf stat -x, -e $e:u ls /usr 2>&1 >/dev/null; done"
    options = [f"--model={model}", f"--cpu={cpu}", *(["--pmu-model=predictor=2bit"] if cpu == MODELS else [])]
    out = run([VLWP, "shell", *options, "--", "/bin/sh", "-c", script, "sh", *EVENTS]).out
    said = re.findall(r"no model of event .(\w\w)h, unit mask (\w\w)h", log.read_text(encoding="utf-8"))
    assert sorted(mask + event for event, mask in said) == sorted(set(zeros.split())), out
    assert out.count("instructions:u") == 1 and len(re.findall("^0,,", out, re.MULTILINE)) == len(zeros.split()), out


@pytest.mark.parametrize("cpu", LESS)
def test_sample(cpu: str) -> None:
    """What the documented example of the intrinsics prints without LWPVAL, and without LWP."""
    both = (program("sample"), program("sample_32"))
    assert run([VLWP, "shell", f"--cpu={cpu}", "--", "/bin/sh", "-c", '"$0"; "$1"', *both]).out == LESS[cpu]


def test_module_switch() -> None:
    """Where LWP is off at reset (lwp-preset=off) the module is the system's switch for it: on with it, off without."""
    script = '"$0"; /sbin/insmod "$1"; "$0"; /sbin/rmmod lwp; "$0"'
    options = ["--cpu=lwp-preset=off", "--", "/bin/sh", "-c", script]
    off = "OS has not made LWP available\n"
    out = run([VLWP, "shell", *options, program("sample"), linux.lwp_module()]).out
    assert out == off + SAMPLE(64, "", 17, 7, 10) + off
