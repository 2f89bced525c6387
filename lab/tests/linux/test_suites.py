# SPDX-License-Identifier: GPL-2.0-or-later
"""Some of perf's own tests, drawn by the seed, in a guest with counters; ./vlwp soak suites runs all that use them."""

import random
import shutil

import pytest

from lab.guest.vm import HOST_ROOT
from lab.testing import suites
from lab.tests.plugin import Tell

QUICK = ("Event-times", "Convert-perf", "mmap-interface", "Track-with")
DRAWN = 2


def test_suites(seed: int, tell: Tell) -> None:
    """Two of perf's tests that use counters pass."""
    if not shutil.which("perf"):
        pytest.skip("needs perf: apt-get install linux-perf")
    perf = suites.table()["perf"]
    tests = [name for name in suites.names(perf, HOST_ROOT) if name.partition(":")[2].startswith(QUICK)]
    assert len(tests) >= DRAWN, "this perf has other tests"
    drawn = random.Random(seed).sample(tests, DRAWN)
    found = suites.run(perf, HOST_ROOT, drawn, stock=False)
    tell(f"{found} of perf's tests {' '.join(drawn)}")
    assert found.passed == drawn, f"{found.failed} {found.skipped}"
