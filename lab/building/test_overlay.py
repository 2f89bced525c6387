# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of source trees with files laid over them: a change by hand is kept, and told."""

import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from lab.building import libvirt, linux, overlay, qemu_tree
from lab.common import steps
from lab.common.say import Died


def put(folder: Path, **files: str) -> Path:
    """A folder with files NAME.c."""
    for name, text in files.items():
        (folder / "dir").mkdir(parents=True, exist_ok=True)
        (folder / f"dir/{name}.c").write_text(text, encoding="utf-8")
    return folder


class Tree:
    """A pristine source, and a tree with files laid over it."""

    def __init__(self, work: Path):
        self.stage, self.list, self.tree = work / "stage", work / "list", put(work / "tree", a="a\n", b="b\n")
        self.pristine = put(work / "pristine", a="a\n", b="b\n")

    def lay(self, patched: str = "qemu", **files: str) -> None:
        """Lay over these files only."""
        for file in self.stage.rglob("*.c"):
            file.unlink()
        overlay.lay_over(put(self.stage, **files), self.list, self.pristine, self.tree, patched)

    def text(self, name: str) -> str:
        """What the tree has; "" if nothing."""
        file = self.tree / f"dir/{name}.c"
        return file.read_text(encoding="utf-8") if file.is_file() else ""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """With a patched and a new file."""
    it = Tree(tmp_path)
    it.lay(a="patched\n", new="new\n")
    return it


@pytest.mark.parametrize("name", ["a", "new"])
def test_a_change_by_hand_is_kept_and_told(tree: Tree, name: str) -> None:
    """In one line, with the file and the command."""
    put(tree.tree, **{name: "MY EDIT\n"})
    with pytest.raises(Died) as err:
        tree.lay(a="patched again\n", new="newer\n")
    assert str(err.value).startswith(f"{tree.tree}/dir/{name}.c: ") and "./vlwp patch edit qemu'" in str(err.value)
    assert "\n" not in str(err.value) and tree.text(name) == "MY EDIT\n"


def test_nothing_is_written_when_a_change_is_found(tree: Tree) -> None:
    put(tree.tree, new="MY EDIT\n")
    with pytest.raises(Died):
        tree.lay(a="patched again\n")
    assert tree.text("a") == "patched\n"


def test_a_changed_file_that_no_patch_touched(tree: Tree) -> None:
    """It is left alone until a patch touches it."""
    put(tree.tree, b="MY EDIT\n")
    tree.lay(a="patched again\n")
    with pytest.raises(Died, match="b.c: changed by hand"):
        tree.lay(b="patched\n")
    assert tree.text("b") == "MY EDIT\n"


def test_a_change_that_has_become_a_patch(tree: Tree) -> None:
    """Nothing is lost if the tree has already what is to be written."""
    put(tree.tree, a="MY EDIT\n")
    tree.lay(a="MY EDIT\n")
    tree.lay(a="patched\n")
    assert tree.text("a") == "patched\n"


def test_what_is_no_longer_laid_over(tree: Tree) -> None:
    """Is pristine again, or gone; and what stays keeps its time stamp."""
    os.utime(tree.tree / "dir/a.c", (1, 1))
    tree.lay(a="patched\n")
    assert tree.text("new") == "" and (tree.tree / "dir/a.c").stat().st_mtime == 1
    tree.lay()
    assert tree.text("a") == "a\n"


def test_a_file_that_was_removed_by_hand_comes_back(tree: Tree) -> None:
    (tree.tree / "dir/a.c").unlink()
    tree.lay(a="patched\n", new="new\n")
    assert tree.text("a") == "patched\n"


def test_a_build_that_was_interrupted(tree: Tree) -> None:
    """Neither what it wrote nor what it left is a change by hand."""
    with mock.patch.object(overlay, "_copy", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        tree.lay(a="second\n", new="new\n")
    put(tree.tree, a="second\n")
    with mock.patch.object(overlay, "_copy", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        tree.lay(a="third\n")
    tree.lay(a="fourth\n")
    assert (tree.text("a"), tree.text("new")) == ("fourth\n", "")


def test_a_tree_that_programs_change(tree: Tree) -> None:
    """Mutants that were left there go."""
    put(tree.tree, a="a mutant\n")
    tree.lay("", a="patched\n")
    assert tree.text("a") == "patched\n"


def test_a_listing_of_names_only(tree: Tree) -> None:
    """As older versions wrote it: what was written is not known."""
    tree.list.write_text("dir/a.c\ndir/new.c\n", encoding="utf-8")
    tree.lay(a="patched again\n")
    assert (tree.text("a"), tree.text("new")) == ("patched again\n", "")


@pytest.mark.parametrize("change", [{"b": "MY EDIT\n"}, {"a": "MY EDIT\n"}, {"mine": "of mine\n"}])
def test_a_tree_with_changes_is_not_removed(tree: Tree, change: dict[str, str]) -> None:
    """What a build leaves there is none."""
    (tree.tree / "osdep.h.gch").mkdir()
    (tree.tree / "osdep.h.gch/0").touch()
    overlay.check_whole(tree.list, tree.pristine, tree.tree, "qemu")
    put(tree.tree, **change)
    with pytest.raises(Died, match=f"{next(iter(change))}.c: changed by hand"):
        overlay.check_whole(tree.list, tree.pristine, tree.tree, "qemu")


def bring_in_step(work: Path, kind: str) -> None:
    """The step of a build that makes the tree of a toy source what its patches make of it."""
    pristine = put(work / "pristine", a="a\n")
    if kind == "qemu":
        qemu_tree.sync("vlwp", pristine, work / "tree")
    elif kind == "linux":
        linux._bring_in_step(mock.Mock(), work)
    else:
        toy = mock.Mock(tree=work / "tree", series="1")
        toy.name = "toy"
        libvirt._patched(toy, pristine)


@pytest.mark.parametrize("kind", ["qemu", "linux", "libvirt"])
def test_every_build_keeps_a_change(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of QEMU, KVM and libvirt."""
    number = iter("123")

    def stage(*words: Any) -> None:
        put(words[-2] / ("tree" if kind == "linux" else "."), a=f"patched {next(number)}\n")

    monkeypatch.setattr(qemu_tree, "staged", stage)
    monkeypatch.setattr(linux, "lay_out", stage)
    monkeypatch.setattr(libvirt, "_stage", stage)
    for module in (qemu_tree, linux, libvirt):
        monkeypatch.setattr(module, "SRC", tmp_path, raising=False)
    monkeypatch.setattr(steps, "BUILD", tmp_path)
    monkeypatch.setattr(steps, "LOG", tmp_path)
    tree = tmp_path / "tree"
    bring_in_step(tmp_path, kind)
    assert (tree / "dir/a.c").read_text(encoding="utf-8") == "patched 1\n"
    put(tree, a="MY EDIT\n")
    with pytest.raises(Died, match="dir/a.c: changed by hand"):
        bring_in_step(tmp_path, kind)
    assert (tree / "dir/a.c").read_text(encoding="utf-8") == "MY EDIT\n"
