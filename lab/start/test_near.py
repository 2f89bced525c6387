# SPDX-License-Identifier: GPL-2.0-or-later
"""What is near to a change (near.py)."""

import subprocess
from pathlib import Path

import pytest

from lab.common.c_source import sources
from lab.common.places import TOP
from lab.common.say import Usage
from lab.start import near
from lab.start.near import FOLDERS, MOST, Near, changes, definitions, runs
from lab.tests.pytest_part import PARTS

TEXT = "#define A 1\n\nint f(void)\n{\n\treturn A;\n}\n\nint g(void)\n{\n\treturn 2;\n}\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one file."""
    (tmp_path / "a.c").write_text(TEXT, encoding="ascii")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(near, "TOP", tmp_path)
    return tmp_path


@pytest.mark.parametrize("old, new, names", [
    ("return 2", "return 3", ["g"]), ("A 1", "A 2", ["A"]), ("return A;", "return\n\tA;", ["f"]), ("", "", []),
    ("\n\nint g", "\nint g", ["f"]),  # what was removed stood after f
])
def test_the_definitions_of_changed_lines(tree: Path, old: str, new: str, names: list[str]) -> None:
    """Those in which they are, and no other."""
    (tree / "a.c").write_text(TEXT.replace(old, new) if old else TEXT, encoding="ascii")
    lines = changes("HEAD").get("a.c", [])
    (source,) = sources(tree, [Path("a.c")])
    assert sorted(definitions(source, lines)) == names


def test_a_file_that_git_does_not_know_has_changed(tree: Path) -> None:
    """All of it."""
    (tree / "b.c").write_text("int h;\n", encoding="ascii")
    assert list(changes("HEAD")) == ["b.c"]


def test_a_commit_that_is_none_is_refused(tree: Path) -> None:
    """In one line."""
    with pytest.raises(Usage, match="'nothing' is no commit"):
        changes("nothing")


def test_quick_parts_run_and_others_where_their_own_has_changed() -> None:
    """Of flat rows those with most reasons."""
    found = Near()
    for number in range(MOST + 3):
        found.add("flat", f"row{number:02}", "one")
    found.add("flat", "row14", "two")
    found.add("kvm", "test_tf", "one")
    found.add("unit", "tests/test_ring", "one")
    assert [name for name in found.names("flat") if runs(found, "flat", name)] == ["row14", *(
        f"row{number:02}" for number in range(MOST - 1)
    )]
    assert runs(found, "unit", "tests/test_ring") and not runs(found, "kvm", "test_tf")
    found.own.add("kvm")
    assert runs(found, "kvm", "test_tf")


@pytest.mark.parametrize("part", sorted({part for _, part, _ in FOLDERS}))
def test_what_a_folder_leads_to_is_a_test(part: str) -> None:
    """Each name; one that means none would run nothing."""
    assert PARTS[part].lines([name for _, where, name in FOLDERS if where == part], "--list")


def test_a_function_of_the_engine_leads_to_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the lists of mutants and the table of rules."""
    text = (TOP / "kvm/engine/lwp_filter.c").read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(text, 1) if line.startswith("bool lwp_branch_counted("))
    monkeypatch.setattr(near, "changes", lambda rev: {"kvm/engine/lwp_filter.c": [range(at, at + 1)]})
    found = near.near("HEAD")
    assert ("unit", "tests/test_filter") in found.reasons and ("flat", "filters") in found.reasons
    assert "43724-723 is done by lwp_branch_counted" in found.reasons["flat", "filters"]


def test_a_test_of_a_list_is_one_of_a_part() -> None:
    """As ./vlwp test names it."""
    names = {"flat": "flat", "check": "flat", "linux": "linux", "libvirt": "libvirt"}
    assert {program: near._test(program, "a")[0] for program in names} == names  # pylint: disable=protected-access
    assert near._test("host-tools/tests/test_rows", "rows::a") == ("unit", "tests/test_rows")
