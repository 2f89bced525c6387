# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of suites.py: what a suite's tests have done."""

from dataclasses import replace

from lab.testing.suites import Suite, table, verdicts

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
