# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that are saved, loaded, moved and damaged (lab/migrate): on this machine under TCG, in L1 of the nested lab,
and in two L1 machines that are linked. --scale does so many times as much."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.building import kernel
from lab.common import bases, places, proc
from lab.common.steps import jobs_count
from lab.migrate import fuzz, live, points as program
from lab.migrate.machines import Task, alone
from lab.nested import l1
from lab.tests.plugin import Points, Tell

# What both accelerators have of LWP, and no paravirtualisation.
ACROSS = "--properties=lwp-dme=off,lwp-cnh=off,lwp-rnh=off,kvm=off"
CLOCKLESS = "--kind=pc-q35-5.1"  # has no KVM clock then, of which TCG knows nothing
CLOCKED = pytest.mark.skipif(bases.qemu_base().series != bases.default("qemu"), reason="needs a QEMU with pc-q35-5.1")
KVM = "--accel=kvm"
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)


Here = Callable[[Callable[[Task], None], int], None]


@pytest.fixture
def here(tmp_path: Path, seed: int, scale: int, points: Points, tell: Tell) -> Here:
    """Runs something so often on this machine, under TCG."""
    def run(what: Callable[[Task], None], count: int) -> None:
        task = Task(tmp_path, seed, count * scale, jobs_count())
        what(task)
        points(task.passed, task.failed, task.skipped)
        for line in task.lines:
            tell(line)
        assert task.passed and not task.failed

    return run


def test_points(here: Here) -> None:
    """Save and restore at points of a program, in every state of the engine (43724-821, 2007-301)."""
    here(program.points, 100)


def test_moments(here: Here) -> None:
    """Save and restore at moments, for any accelerator."""
    here(program.moments, 10)


def test_fuzz(here: Here, scale: int) -> None:
    """Damaged streams (43724-209)."""
    here(fuzz.fuzz, 250 if scale == 1 else 1000)


def test_live(here: Here) -> None:
    """Live migrations of a Linux guest that is profiled (43724-821)."""
    here(live.live, 5)


def judge(status: int, log: Path, points: Points, tell: Tell) -> None:
    """What a run in L1 has printed, and its status: 1 without a failure says that L1's kernel complains."""
    text = log.read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines()[:-1]:
        tell(line)
    found = CLOSING.findall(text)
    assert found, text
    points(*map(int, found[-1]))
    assert found[-1][1] == "0" and found[-1][0] != "0", text
    assert status == 0, text


@pytest.mark.parametrize("few, count, options", [
    pytest.param(6, 10, (KVM,), id="points-kvm"), pytest.param(2, 2, ("--into=kvm", ACROSS), id="tcg-to-kvm"),
    pytest.param(2, 2, (KVM, "--into=tcg", ACROSS, CLOCKLESS), id="kvm-to-tcg", marks=[pytest.mark.soak, CLOCKED]),
])
def test_nested(
    few: int, count: int, options: tuple[str, ...], tmp_path: Path, scale: int, seed: int, points: Points, tell: Tell
) -> None:
    """In L1, whose KVM has LWP: points saved and restored by KVM, and from one accelerator to the other."""
    wanted = few if scale == 1 else count * scale
    command = alone("points", f"--count={wanted}", f"--seed={seed}", *options)
    judge(l1.boot_logged(l1.L1(), tmp_path, command), tmp_path / "log", points, tell)


def test_misses(tmp_path: Path, seed: int, points: Points, tell: Tell) -> None:
    """In L1, whose processor has IBS: the two sides agree on data cache misses that KVM samples (43724-117)."""
    command = alone("misses", "--count=1", f"--seed={seed}", KVM)
    judge(l1.boot_logged(l1.L1(cpu="EPYC,pmu=on,ibs=on"), tmp_path, command), tmp_path / "log", points, tell)


def test_attributes(tmp_path: Path, scale: int, seed: int, points: Points, tell: Tell) -> None:
    """In L1: damaged images and context arrays for KVM's attributes, and guests that run with them."""
    command: list[proc.Word] = [places.KVM_PROGRAMS / "kvm_hostile", "attributes", str(1000 * scale), str(seed)]
    status = l1.boot_logged(l1.L1(), tmp_path, command)
    text = (tmp_path / "log").read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines():
        tell(line)
    passed, failed = (len(re.findall(f"^{word}", text, re.MULTILINE)) for word in ("ok ", "not ok "))
    points(passed, failed, 0)
    assert re.search(r"^1\.\.", text, re.MULTILINE), f"it ended early:\n{text}"
    assert status == 0 and not failed, text


def host(role: str, other: str, linux: str, work: Path, count: int, seed: int) -> int:
    """One of two L1 machines that a datagram socket links; linux: the base of its kernel. Result: its status."""
    sockets = {name: work / f"{name}.socket" for name in (role, other)}
    local = f"local.type=unix,local.path={sockets[role]}"
    lab = l1.L1(linux=linux, memory=1536, devices=[
        *("-netdev", f"dgram,id=link,{local},remote.type=unix,remote.path={sockets[other]}"),
        *("-device", f"virtio-net-pci,netdev=link,mac=52:54:00:00:00:0{len(role)}"),
    ])
    return l1.boot_logged(lab, work / role, alone("pair", f"--count={count}", f"--seed={seed}", KVM, f"--role={role}"))


def linked(linux: str, work: Path, count: int, seed: int, points: Points, tell: Tell) -> None:
    """Two of them; linux: the base of the second one's kernel."""
    hosts = (("first", "second", ""), ("second", "first", linux))
    with ThreadPoolExecutor(len(hosts)) as pool:
        ends = [pool.submit(host, *one, work, count, seed) for one in hosts]
    for (role, _, series), end in zip(hosts, ends, strict=True):
        tell(f"The {role} host has Linux {kernel.version(series)}:")
        judge(end.result(), work / role / "log", points, tell)


@pytest.mark.soak
def test_pair(tmp_path: Path, scale: int, seed: int, points: Points, tell: Tell) -> None:
    """Live migrations between two L1 machines with the same kernel."""
    linked("", tmp_path, 2 * scale, seed, points, tell)


@pytest.mark.soak
@pytest.mark.parametrize("linux", bases.other_kernels())
def test_pair_kernels(linux: str, tmp_path: Path, scale: int, seed: int, points: Points, tell: Tell) -> None:
    """Live migrations between L1 machines of two kernels, there and back."""
    l1.prepare_kernel(linux)
    linked(linux, tmp_path, 2 * scale, seed, points, tell)
