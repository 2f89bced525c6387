# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest under KVM: a command in it, threads, windows of branches, and a profile beside the truth; and what the
sources of KVM promise to a compiler."""

from pathlib import Path

import pytest

from lab.building import linux
from lab.checks import kvm_warnings
from lab.common.places import KVM
from lab.common.report import Check
from lab.nested import diff, linux_guest, skid
from lab.nested.l1 import L1
from lab.tests.plugin import Tell

LAB = L1(smp=2, limit=1500)


def test_compile_clang() -> None:
    """KVM's part of LWP compiles with clang and warnings as errors; gcc compiles the modules so when they are built."""
    assert kvm_warnings.problems(KVM / "tree/arch/x86/kvm", linux.fetch().headers_dir) == []


@pytest.mark.xdist_group("guest")
class TestGuest:
    """Three tests of one boot, two about one profile."""

    @pytest.fixture(scope="class")
    def booted(self, tmp_path_factory: pytest.TempPathFactory) -> linux_guest.Session:
        """The boot."""
        return linux_guest.Session(tmp_path_factory.mktemp("guest"))

    @pytest.fixture(scope="class")
    def profile(self, tmp_path_factory: pytest.TempPathFactory) -> linux_guest.Profile:
        """The profile."""
        return linux_guest.Profile(tmp_path_factory.mktemp("profile"))

    def test_guest(self, booted: linux_guest.Session, check: Check) -> None:
        """A command in a Linux guest under KVM."""
        booted.a_command(check)

    def test_guest_gs(self, booted: linux_guest.Session, check: Check) -> None:
        """Threads there that GS base tells apart, as under Wine."""
        booted.by_gs(check)

    def test_guest_windows(self, booted: linux_guest.Session, check: Check) -> None:
        """Windows of branches there are paths, and all of them the whole trace."""
        booted.windows(check)

    def test_guest_profile(self, profile: linux_guest.Profile, check: Check) -> None:
        """A program there is profiled by the PMU, its shares are right."""
        profile.take(check)

    def test_guest_pmu(self, profile: linux_guest.Profile, check: Check) -> None:
        """That takes one interrupt for each record, and hardly a step."""
        if not profile.report:
            profile.take(check)
        profile.by_the_pmu(check)


def told(check: Check, tell: Tell) -> None:
    """The summaries in the log of a check."""
    check.log.flush()
    for line in diff.summaries(Path(check.log.name)):
        tell(line)


def test_diff(check: Check, seed: int, scale: int, tell: Tell) -> None:
    """50 random programs leave the same records in TCG and KVM."""
    diff.same_records(check, diff.Programs(seed, 0, 50 * scale), LAB, check.work / "diff")
    told(check, tell)


@pytest.mark.parametrize("late, count", [("0", 50), ("500", 15)], ids=["skid-0", "skid-500"])
def test_diff_late(check: Check, seed: int, scale: int, tell: Tell, late: str, count: int) -> None:
    """Random programs leave the same records in TCG and KVM whose counters interrupt late."""
    skid.same_programs(check, skid.SKIDS[late], diff.Programs(seed, 0, count * scale), LAB)
    told(check, tell)
