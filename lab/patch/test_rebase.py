# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of ./vlwp patch rebase."""

from pathlib import Path

import pytest

from lab.common.say import Died
from lab.patch import rebase
from lab.patch.toy import LINES, Toy


def test_another_release(toy: Toy, tmp_path: Path) -> None:
    """The hunks move; git says how each patch fares."""
    toy.edit()
    source = toy.source(tmp_path / "toy-1.1", ["a line more\n", *LINES])
    said = rebase.rebase(toy.base, source)
    assert said.count(" = ") == 6 and "first" in said
    toy.saved()
    assert "@@ -4,5 +4,5 @@" in toy.texts()["one/0001-first.patch"]


def test_another_release_with_a_conflict(toy: Toy, tmp_path: Path) -> None:
    """It stays in the state of git's, with one line that says what to do; then it can be saved."""
    toy.edit()
    source = toy.source(tmp_path / "toy-2.0", ["the second\n" if n == 15 else line for n, line in enumerate(LINES, 1)])
    with pytest.raises(Died) as err:
        rebase.rebase(toy.base, source)
    assert "conflicts in file: " in str(err.value) and "git rebase --continue" in str(err.value)
    assert "\n" not in str(err.value) and toy.repo.under_way() == "rebase"
    with pytest.raises(Died, match="git rebase has not ended"):
        toy.saved()
    text = "".join(["first\n" if n == 5 else "2nd\n" if n == 15 else line for n, line in enumerate(LINES, 1)])
    (toy.repo.place / "file").write_text(text, encoding="utf-8")
    toy.git("add", "file")
    toy.git("rebase", "--continue")
    assert toy.saved() == ["one/0002-second.patch", "other/one/0002-second.diff"]  # the other base keeps its text
    assert "-the second\n+2nd\n" in toy.texts()["one/0002-second.patch"]
