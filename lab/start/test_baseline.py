# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts beside those that were kept."""

from pathlib import Path

import pytest

from lab.common.say import Died
from lab.start import baseline

BEFORE = baseline.Baseline({"instructions": 1000, "branches": 0}, "count-1-local 1, seed 1, files 2")


def test_the_threshold_itself_is_allowed() -> None:
    """More than it is not; what is fewer, or was not counted, is no growth."""
    assert baseline.grown(BEFORE, {"instructions": 1001}, 0) == ["instructions: 1001 are 1 more than 1000 (+0.1000%)"]
    assert not baseline.grown(BEFORE, {"instructions": 1001}, 0.1)
    assert not baseline.grown(BEFORE, {"instructions": 999, "taken-branches": 5}, 0)
    assert baseline.grown(BEFORE, {"branches": 1}, 99)


def test_another_machine_is_told() -> None:
    """Other files of the program are not."""
    assert not baseline.other_machine(BEFORE, "count-1-local 1, seed 1, files 3")
    assert "not count-1-local 9" in baseline.other_machine(BEFORE, "count-1-local 9, seed 1, files 2")


@pytest.mark.parametrize("text", ["", "[]", '{"runs": [{}]}', '{"schema": "vlwp-count-1", "runs": [{"x": "1"}]}'])
def test_a_baseline_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    """In one line."""
    (tmp_path / "file").write_text(text, encoding="ascii")
    with pytest.raises(Died, match="no counts of"):
        baseline.read(tmp_path / "file")
