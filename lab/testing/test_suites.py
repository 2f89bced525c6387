# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of suites.py: what a suite's tests have done."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.guest.vm import HOST_ROOT
from lab.testing import suites
from lab.testing.suites import Suite, enough, table, verdicts

SUITE = Suite("one", tests="", run="", skips="SKIPPED", fails="FAILED")
# A guest with CR LF, given the words of run() and then the names of tests
GUEST = """#!/bin/sh
while [ "$1" != : ]; do shift; done; shift 3
for test; do
    case $test in dies*) exit ;; hangs*) exec sleep 1000 ;; esac
    printf '@@ %s 0\\r\\nwell\\r\\n' "$test"
done
"""
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
    """A status or a word decides; who is not passed has a cause."""
    found = verdicts(SUITE, ["good", "red", "says", "lacks", "skips", "slow"], OUTPUT)
    assert found.passed == ["good"]
    assert found.skipped == {"lacks": "SKIPPED", "skips": "no pmu"}
    assert found.failed == {"red": "no counter", "says": "it has FAILED", "slow": "it does not end in time"}
    assert str(found) == "1 passed, 3 failed, 2 skipped"


def test_explained() -> None:
    """A kept line is right as soon as each of its failures has a cause; one that skips too much is not."""
    suite, figures = replace(SUITE, known={"a": "so", "x/b": "so"}), "version 1, 2 passed, 2 failed, 0 skipped"
    line = f"a50b8e64944b 1 wrong one 1/2: {figures}"
    assert suites.explained(suite, f"{line}: a x/b") == figures
    for kept in ("", line, f"{line}: a c", f"{line}: too many are skipped", f"{line}: too many are skipped a"):
        assert not suites.explained(suite, kept)


def test_guest_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test in which the guest hangs or ends has failed; those after it run in another guest."""
    for name, value in (("TOP", tmp_path), ("LOG", tmp_path), ("PATIENCE", 3)):
        monkeypatch.setattr(suites, name, value)
    (tmp_path / "vlwp").write_text(GUEST, encoding="utf-8")
    (tmp_path / "vlwp").chmod(0o755)
    found = suites.run(replace(SUITE, limit=0), HOST_ROOT, ["a", "hangs", "dies", "b", "dies2"], stock=False)
    assert found.passed == ["a", "b"]
    assert found.failed == dict.fromkeys(["hangs", "dies", "dies2"], "the guest stops")


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


def test_twins() -> None:
    """What is known of a test of rr is so of its twin without syscallbuf, and of that alone."""
    known = table()["rr"].known
    assert known["pack-no-syscallbuf"] == known["pack"] and "pack-no-syscallbuf-no-syscallbuf" not in known
    assert "ctests/shlib-no-syscallbuf" not in table()["papi"].known


@pytest.mark.parametrize("parts, ran", [((4, 0, 1), True), ((4, 0, 2), False), ((0, 1, 0), True)])
def test_enough_ran(parts: tuple[int, int, int], ran: bool) -> None:
    """At least 80% of all parts together; of parts that are not done nothing is known."""
    line = "papi 1/2: version 7.2.0, {} passed, {} failed, {} skipped; on stock QEMU 1 passed, 0 failed, 9 skipped"
    assert enough([line.format(*parts)]) == ran and enough([line.format(*parts), ""])
    assert enough([line.format(8, 1, 0), line.format(*parts)])
