# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of ./vlwp patch save."""

import pytest

from lab.building.patches import Folder
from lab.common.say import Died
from lab.patch.repo import PRISTINE
from lab.patch.toy import Toy, after


def test_unchanged(toy: Toy) -> None:
    """Not a byte changes: dates and authors neither."""
    before = toy.texts()
    toy.edit()
    assert toy.saved() == [] and toy.texts() == before


def test_one_line_of_a_patch(toy: Toy) -> None:
    """A commit that belongs to one, sorted in by git; nothing but this line changes."""
    toy.edit()
    before = toy.texts()
    toy.change("first", "first and best")
    toy.git("commit", "-qa", "--fixup=:/^first")
    toy.git("rebase", "-q", "-i", PRISTINE)
    assert toy.saved() == ["one/0001-first.patch"]
    name = "one/0001-first.patch"
    assert toy.texts() == before | {name: before[name].replace("+first", "+first and best")}


def test_a_new_patch(toy: Toy) -> None:
    """It is numbered, and so are those after it; its author is the series'."""
    toy.edit()
    toy.git("rebase", "-q", "-i", PRISTINE, todo=after("first", "s/10/ten/", "-am 'A (tenth) line'"))
    assert toy.saved() == ["one/0002-A-tenth-line.patch", "one/0002-second.patch", "one/0003-second.patch"]
    text = toy.texts()["one/0002-A-tenth-line.patch"]
    assert "\nFrom: Ann Tester <ann@example.org>\n" in text and "+line ten\n" in text and "\nindex" not in text


def test_a_patch_dropped(toy: Toy) -> None:
    toy.edit()
    toy.git("rebase", "-q", "-i", PRISTINE, todo="/ first$/d")
    assert toy.saved() == ["one/0001-first.patch", "one/0001-second.patch", "one/0002-second.patch"]
    assert list(Folder("one", toy.top / "one").texts()) == ["0001-second.patch"]


def test_patches_sorted(toy: Toy) -> None:
    """Also into another folder."""
    toy.edit()
    toy.git("rebase", "-q", "-i", PRISTINE, todo="/ first$/{h;d};/ third$/{G}")
    toy.saved()
    assert [list(folder.texts()) for folder in toy.base.folders] == [
        ["0001-second.patch"], ["0001-third.patch", "0002-first.patch"],
    ]


def test_new_files(toy: Toy) -> None:
    """Changed, added, removed: they go where they come from."""
    toy.put("new/old.c", "old\n")
    toy.edit()
    toy.change("new", "newer", "new/new.c")
    (toy.repo.place / "new/more.c").write_text("more\n", encoding="utf-8")
    (toy.repo.place / "new/old.c").unlink()
    toy.git("add", "-A")
    toy.git("commit", "-qm", "On top")
    assert toy.saved() == ["new/more.c", "new/new.c", "new/old.c"]
    assert toy.texts()["new/new.c"] == "newer\n" and "new/old.c" not in toy.texts()


def test_a_change_that_is_in_no_patch(toy: Toy) -> None:
    """A hunk after the new files would be lost."""
    toy.edit()
    toy.change("line 10\n", "ten\n")
    toy.git("commit", "-qam", "Ten")
    with pytest.raises(Died, match="file is no new file: .* before '== new files =='"):
        toy.saved()


def test_what_is_not_committed(toy: Toy) -> None:
    toy.edit()
    (toy.repo.place / "stray").touch()
    with pytest.raises(Died, match="not committed: stray: 'git commit'"):
        toy.saved()


@pytest.mark.parametrize("subject, message", [
    ("== two ==", "'== two ==' is gone"), ("== new files ==", "'== new files ==' is gone"),
])
def test_a_commit_that_must_stay(toy: Toy, subject: str, message: str) -> None:
    toy.edit()
    toy.git("rebase", "-q", "-i", PRISTINE, todo=f"/{subject}/d")
    with pytest.raises(Died, match=message):
        toy.saved()


def test_patches_that_have_changed_meanwhile(toy: Toy) -> None:
    """A save would undo that."""
    toy.edit()
    before = toy.texts()["one/0002-second.patch"]
    toy.put("one/0002-second.patch", before.replace("Why.", "Because."))
    with pytest.raises(Died, match="one/0002-second.patch has changed since 'patch edit'"):
        toy.saved()


def test_nobody_edits(toy: Toy) -> None:
    with pytest.raises(Died, match="'./vlwp patch edit toy-1' begins"):
        toy.saved()


def test_a_second_edit_removes_nothing_that_is_not_saved(toy: Toy) -> None:
    toy.edit()
    toy.edit()
    toy.change("first", "FIRST")
    with pytest.raises(Died, match="changes that are not saved"):
        toy.edit()
    toy.git("commit", "-qam", "More")
    with pytest.raises(Died, match="changes that are not saved"):
        toy.edit()
    assert "FIRST" in (toy.repo.place / "file").read_text(encoding="utf-8")
