# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of ./vlwp patch edit."""

import pytest

from lab.common.say import Died
from lab.patch.repo import PRISTINE
from lab.patch.toy import Toy, patch


def test_a_commit_a_patch_and_the_new_files_last(toy: Toy) -> None:
    toy.edit()
    subjects = [subject for _, subject in toy.repo.log(f"{PRISTINE}..")]
    assert subjects == ["== one ==", "first", "second", "== two ==", "third", "== new files =="]
    assert (toy.repo.place / "new/new.c").is_file() and not toy.repo.dirty()


def test_a_patch_that_does_not_apply(toy: Toy) -> None:
    """The others wait in git am."""
    toy.put("one/0001-first.patch", patch("first", 5).replace("-line 5", "-another line"))
    with pytest.raises(Died, match="'first' does not apply to toy-1.0: .*git am --continue"):
        toy.edit()
    with pytest.raises(Died, match="git am has not ended"):
        toy.saved()
    toy.change("line 5\n", "first\n")
    toy.git("add", "file")
    toy.git("am", "-q", "--continue")
    assert toy.saved() == ["one/0001-first.patch"]
    assert toy.texts()["one/0001-first.patch"] == patch("first", 5)
