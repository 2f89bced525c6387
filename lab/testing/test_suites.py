# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of suites.py: what a suite's tests have done."""

from dataclasses import replace

import pytest

from lab.testing.suites import Suite, enough, table, verdicts

SUITE = Suite("one", tests="", run="", skips="SKIPPED", fails="FAILED")
OUTPUT = """@@ good 0
all is well

@@ red 1
first
no counter

@@ says 0
it has FAILED

@@ lacks 0
no event
SKIPPED

@@ skips 77
no pmu

@@ slow 124
@@ no line of the script
"""


def test_verdicts() -> None:
    """A status or a word decides; who is not passed has a cause; who is not there has failed."""
    found = verdicts(SUITE, ["good", "red", "says", "lacks", "skips", "slow", "gone"], OUTPUT.replace("\n", "\r\n"))
    assert found.passed == ["good"]
    assert found.skipped == {"lacks": "SKIPPED", "skips": "no pmu"}
    assert found.failed == {
        "red": "no counter", "says": "it has FAILED", "slow": "it does not end in time",
        "gone": "the guest ends before it",
    }
    assert str(found) == "1 passed, 4 failed, 2 skipped"


def test_words_of_the_suite_alone_decide() -> None:
    """Without patterns only the status does."""
    found = verdicts(replace(SUITE, skips="(?!)", fails="(?!)"), ["says", "lacks"], OUTPUT)
    assert found.passed == ["says", "lacks"]


def test_table() -> None:
    """Each row names where the suite comes from."""
    assert all(one.source or one.packages for one in table().values())


def test_row_like_another() -> None:
    """A row like another one has what that has, and its folder."""
    rows = table()
    assert replace(rows["rr-zen2"], name="rr", like="", late="") == rows["rr"]
    assert rows["rr-zen2"].folder == rows["rr"].folder and rows["rr-zen2"].late == "zen2"


@pytest.mark.parametrize("parts, ran", [((4, 0, 1), True), ((4, 0, 2), False), ((0, 1, 0), True)])
def test_enough_ran(parts: tuple[int, int, int], ran: bool) -> None:
    """At least 80% of all parts together; of parts that are not done nothing is known."""
    line = "papi 1/2: version 7.2.0, {} passed, {} failed, {} skipped; on stock QEMU 1 passed, 0 failed, 9 skipped"
    assert enough([line.format(*parts)]) == ran and enough([line.format(*parts), ""])
    assert enough([line.format(8, 1, 0), line.format(*parts)])
