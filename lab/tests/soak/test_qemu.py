# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's own tests on the patched QEMU: unit, CPUID, LWP, TCG system tests."""

from pathlib import Path

import pytest

from lab.building import meson, qemu, tools
from lab.common.steps import build_lock, jobs_count
from lab.testing.junit import tally
from lab.tests.conftest import good
from lab.tests.plugin import Points

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def out() -> Path:
    """The build folder of a whole QEMU."""
    tools.build()
    qemu.build("full")
    meson.fetch()
    qemu.bundle_firmware(qemu.out_dir("full"))
    return qemu.out_dir("full")


@pytest.mark.parametrize("words", [
    pytest.param(["--suite", "unit"], id="unit"),
    pytest.param(["qtest-x86_64/test-x86-cpuid-compat"], id="cpuid-compat"),
    pytest.param(["qtest-x86_64/pmu-test", "qtest-x86_64/lwp-test"], id="lwp"),
])
def test_qemu(out: Path, words: list[str], points: Points) -> None:
    """meson test; each test program counts."""
    log = f"soak-{words[-1].rpartition('/')[2]}"
    with build_lock("qemu-full"):
        good(["pyvenv/bin/meson", "test", "--num-processes", str(jobs_count()), "--logbase", log, *words], cwd=out)
        points(*tally(out / f"meson-logs/{log}.junit.xml"))


def test_qemu_tcg(out: Path) -> None:
    """TCG system tests."""
    with build_lock("qemu-full"):
        good(["make", "run-tcg-tests-x86_64-softmmu"], cwd=out)
