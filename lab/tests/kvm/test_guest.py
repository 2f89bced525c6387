# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest under KVM: a command in it, threads, windows of branches, and a profile beside the truth."""

import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.common.places import LINUX_PROGRAMS, LWPRUN, TOP
from lab.guest.vm import GUEST_SHARE
from lab.nested import machine
from lab.nested.machine import totals
from lab.testing import callgrind, windows
from lab.testing.suite import read
from lab.tests.conftest import good
from lab.tests.linux.test_programs import judge_left, leave, with_module
from lab.tests.plugin import Points

SIZE = 700  # thousand instructions, each a step if it is not the PMU that counts: enough records of any seed
FEW = 20000  # records
COMPLETE = ("Missed events: 0 ", " Contexts dropped: 0, evicted: 0.")
# Of one boot, with the share's files as results: input and output, threads with GS bases of their own, and windows of
# branches.
SCRIPT = """cat
$1/test_gs >$2/gs 2>&1; echo "status $?" >>$2/gs
$3 --windows=31:100 -o $2/sampled -- $1/paths >$2/windows.log 2>&1
$3 --windows=all -o $2/all -- $1/paths >>$2/windows.log 2>&1
exit 5
"""
TEXT = "through two machines"
# Is it complete? Every branch is due, so that KVM steps; with `exact` delivery it does so without limit.
WINDOWS = {"sampled": False, "all": True}
PATHS, WORKLOAD = LINUX_PROGRAMS / "paths", LINUX_PROGRAMS / "workload"
# How KVM counts, and its delivery.
WAYS = (("step", "exact"), ("perf", "prompt"))


@dataclass(frozen=True)
class Booted:
    """A guest that has ended."""

    status: int
    out: str
    share: Path

    def text(self, name: str) -> str:
        """A file that it has left."""
        text = (self.share / name).read_text(encoding="utf-8", errors="replace")
        print(text)
        return text


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Booted:
    """The boot."""
    run = tmp_path_factory.mktemp("guest")
    (run / "share").mkdir()
    guest = machine.Machine("kvm", smp=1, cpu="lwp-delivery=exact")
    guest.in_lab = not machine.kvm_has_lwp()
    (run / "input").write_text(TEXT + "\n", encoding="utf-8")
    command = ["/bin/sh", "-c", SCRIPT, "sh", str(LINUX_PROGRAMS), GUEST_SHARE, str(LWPRUN)]
    with (run / "input").open("rb") as stdin, (run / "output").open("wb") as out:
        status = machine.boot(guest, run, command, stdin=stdin, stdout=out, stderr=subprocess.DEVNULL)
    return Booted(status, (run / "output").read_text(encoding="utf-8"), run / "share")


def profiled(tmp_path: Path, seed: int, delivery: str, more: Sequence[str]) -> str:
    """Profile the workload in a guest under KVM; the shares are right. Result: the report."""
    data, words = tmp_path / "data", [str(WORKLOAD), str(seed), str(SIZE)]
    options = ["--accel=kvm", "--smp=1", f"--cpu=lwp-delivery={delivery}", f"--data={data}", *more]
    options += ["--lwprun=--event=instructions:23", "--lwprun=--ring-size=4M"]
    report = good([TOP / "vlwp", "run", *options, "--", *words])
    print(callgrind.shares(tmp_path, words, data, own=True))
    return report


@pytest.mark.xdist_group("guest")
class TestGuest:
    """Three tests of one boot, and a profile."""

    @pytest.mark.soak
    def test_guest(self, booted: Booted) -> None:
        """Input, output and exit status of a command in a Linux guest under KVM pass through both machines."""
        assert (booted.status, booted.out.rstrip("\n")) == (5, TEXT)

    @pytest.mark.soak
    def test_guest_gs(self, booted: Booted) -> None:
        """Threads there that GS base tells apart, as under Wine."""
        text = booted.text("gs")
        tap = read(text)
        assert tap.plan == tap.passed and text.endswith("\nstatus 0\n")

    @pytest.mark.soak
    def test_guest_windows(self, booted: Booted) -> None:
        """Windows of branches there are paths, and all of them the whole trace."""
        assert booted.text("windows.log").count("the trace is complete") == 1
        for name, complete in WINDOWS.items():
            print(windows.are_paths(booted.share / name, PATHS, complete))

    def test_guest_profile(self, tmp_path: Path, seed: int) -> None:
        """A program there is profiled by the PMU, and its shares are right. Nearly every record cost one interrupt of a
        counter. A 64th of the intervals, whose low bits are drawn, is 1, for which perf arms no counter: these are
        stepped."""
        report = profiled(tmp_path, seed, "prompt", [f"--stats={tmp_path}/stats"])
        lines = report.splitlines()
        assert any(line.startswith(COMPLETE[0]) and line.endswith(COMPLETE[1]) for line in lines), "events are missed"
        assert any(line.startswith("Counted by the PMU: ") for line in lines)
        total = totals(tmp_path / "stats")
        print(total)
        records = total["records"]
        assert records >= FEW and total["counter-irqs"] >= 0.96 * records and total["steps"] <= 0.04 * records
        assert total["no-counter"] == 0

    @pytest.mark.soak
    @pytest.mark.parametrize("source, delivery", WAYS)
    def test_guest_ways(self, tmp_path: Path, seed: int, source: str, delivery: str) -> None:
        """The shares are those of the truth with each way to count."""
        profiled(tmp_path, seed, delivery, [] if machine.kvm_has_lwp() else [f"--kvm-amd=lwp_source={source}"])


def test_guest_wait(tmp_path: Path, points: Points) -> None:
    """The module's eventfd in a guest there with two processors, and the library that waits by it."""
    guest = machine.Machine("kvm")
    guest.in_lab = not machine.kvm_has_lwp()
    leave(guest, tmp_path, ["wait"], with_module())
    judge_left(tmp_path, "wait", points)


# The workload's seed with which seven eighths of its instructions chase pointers. These miss anyway; of the rest, lines
# that KVM and the kernels displace at each exit are misses of its own, and a slow machine has more exits.
CHASES = ("570509", "180000")


def test_guest_misses(tmp_path: Path) -> None:
    """Data cache misses of a program in a guest, which KVM samples, are those of TCG's model within five standard
    deviations, and a tenth for lines that exits displace."""
    misses = {}
    for accel in ("tcg", "kvm"):
        options = [f"--accel={accel}", "--smp=1", f"--stats={tmp_path}/{accel}", "--json", "--events=dcache-misses"]
        said = good([TOP / "vlwp", "count", *options, "--", WORKLOAD, *CHASES])
        misses[accel] = json.loads(said[said.index("{"):])["runs"][0]["dcache-misses"]
    samples = totals(tmp_path / "kvm")["counter-irqs"]
    deviation = misses["tcg"] / math.sqrt(max(samples, 1))
    print(misses, samples, "samples, standard deviation", deviation)
    assert samples > 1000 and abs(misses["kvm"] - misses["tcg"]) < 5 * deviation + misses["tcg"] / 10
