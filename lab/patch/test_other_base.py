# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of ./vlwp patch with a base whose patches are differences from the default base's."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.common.say import Died
from lab.patch import edit, rebase, save
from lab.patch.repo import PRISTINE
from lab.patch.toy import LINES, WHO, Toy, after, edited, patch


class TestAnotherBase:
    """Its patches are differences from the default base's."""

    LINES = ["more\n"] * 20 + ["line thirteen\n" if line == "line 13\n" else line for line in LINES]
    DIFF = "--- default\n+++ here\n@@ -11,3 +11,3 @@\n @@\n- line 13\n+ line thirteen\n  line 14\n"

    @pytest.fixture
    def source(self, toy: Toy, tmp_path: Path) -> Path:
        """Lines around the second patch are others there. A whole patch becomes a diff."""
        source = toy.source(tmp_path / "toy-2.0", self.LINES)
        toy.put("other/one/0002-second.patch", patch("second", 35, self.LINES))
        edit.make(toy.other, source, WHO)
        save.save(toy.other)
        texts = toy.texts()
        assert texts["other/one/0002-second.diff"] == self.DIFF and "other/one/0002-second.patch" not in texts
        return source

    def second(self, toy: Toy) -> str:
        """Its second patch."""
        return next(text for name, text in toy.other.folders[0].texts().items() if name.endswith("-second.patch"))

    def test_unchanged(self, toy: Toy, source: Path) -> None:
        before = toy.texts()
        edit.make(toy.other, source, WHO)
        assert save.save(toy.other) == [] and toy.texts() == before

    def test_a_change_of_the_default_base_reaches_it(self, toy: Toy, source: Path) -> None:
        toy.edit()
        toy.change("second", "second and best")
        toy.git("commit", "-qa", "--fixup=:/^second")
        toy.git("rebase", "-q", "-i", PRISTINE)
        assert toy.saved() == ["one/0002-second.patch"]
        assert " line thirteen\n" in self.second(toy) and "+second and best\n" in self.second(toy)

    def test_a_change_that_does_not_fit_is_told(
        self, toy: Toy, source: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It keeps its text."""
        before = self.second(toy)
        toy.edit()
        toy.git("rebase", "-q", "-i", PRISTINE, todo=after("first", "s/13/XIII/", "-a --amend --no-edit"))
        toy.saved()
        assert self.second(toy) == before and "toy-2: 0002-second.patch keeps its text" in capsys.readouterr().err

    def test_the_default_base_on_another_release_does_not_reach_it(
        self, toy: Toy, source: Path, tmp_path: Path
    ) -> None:
        """Its source is not another one."""
        before = [folder.texts() for folder in toy.other.folders]
        toy.edit()
        rebase.rebase(toy.base, toy.source(tmp_path / "toy-1.1", [line.replace("line 28", "new") for line in LINES]))
        toy.saved()
        assert " new\n" in toy.texts()["two/0001-third.patch"]
        assert [folder.texts() for folder in toy.other.folders] == before

    def test_names_follow(self, toy: Toy, source: Path) -> None:
        toy.edit()
        toy.git("rebase", "-q", "-i", PRISTINE, todo="/ first$/d")
        toy.saved()
        texts = toy.texts()
        assert texts["other/one/0001-second.diff"] == self.DIFF and "other/one/0002-second.diff" not in texts

    def test_patches_of_its_own_and_without_some(self, toy: Toy, source: Path) -> None:
        """What is dropped wants a reason; what is its own keeps its place when the default's numbers change."""
        todo = "/ third$/d;" + after("first", "s/10/ten/", "-am Ten")
        toy.git("rebase", "-q", "-i", PRISTINE, todo=todo, place=edited(toy.other, source))
        changed = [str(path.relative_to(toy.top)) for path in save.save(toy.other)]
        assert changed == ["other/one/0001a-Ten.patch", "other/two/dropped"]
        assert toy.texts()["other/two/dropped"] == "0001-third.patch: SAY WHY\n"
        toy.put("other/two/dropped", "0001-third.patch: it has that\n")
        toy.edit()
        toy.git("rebase", "-q", "-i", PRISTINE, todo="/ first$/d;" + after("== two ==", "s/20/xx/", "-am New"))
        toy.saved()
        assert list(toy.other.folders[0].texts()) == ["0000a-Ten.patch", "0001-second.patch"]
        assert toy.texts()["other/two/dropped"] == "0002-third.patch: it has that\n"
        assert list(toy.other.folders[1].texts()) == ["0001-New.patch"]

    def test_its_order_is_the_default_s(self, toy: Toy, source: Path) -> None:
        toy.git("rebase", "-q", "-i", PRISTINE, todo="/ first$/{h;d};/ second$/{G}", place=edited(toy.other, source))
        with pytest.raises(Died, match="order of the patches is the default base's"):
            save.save(toy.other)

    def test_a_header_of_its_own(self, toy: Toy, source: Path) -> None:
        """The default's stays as it is."""
        other = replace(toy.other, mine={"new/new.c": toy.top / "other/new.c"})
        (edited(other, source) / "new/new.c").write_text("mine\n", encoding="utf-8")
        other.repo.git("commit", "-q", "-a", "--amend", "--no-edit")
        assert save.save(other) == [toy.top / "other/new.c"] and toy.texts()["new/new.c"] == "new\n"

    def test_a_diff_that_does_not_fit(self, toy: Toy, source: Path) -> None:
        """As after an edit of the default's patch by hand."""
        toy.put("one/0002-second.patch", patch("second", 15).replace("line 13", "line XIII"))
        with pytest.raises(Died, match="0002-second.diff: does not fit .*one/0002-second.patch"):
            toy.other.folders[0].texts()

    def test_the_same_lines_elsewhere(self, toy: Toy, tmp_path: Path) -> None:
        """A diff has no places. Where the nearest is a wrong one, the patch is kept as a whole."""
        toy.put("other/one/0002-second.patch", patch("second", 55, LINES * 2))
        edit.make(toy.other, toy.source(tmp_path / "toy-3.0", LINES * 2), WHO)
        save.save(toy.other)
        assert toy.other.folders[0].texts()["0002-second.patch"] == patch("second", 55, LINES * 2)
