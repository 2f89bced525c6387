# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of results.py: which lines of a file of results count, and which are refused."""

import re
from pathlib import Path

import pytest

from lab.common import results
from lab.common.results import HEADER, Results, code_of
from lab.common.say import Died

CODE, OTHER = "0123456789ab", "ba9876543210"
GOOD = f"{HEADER}{CODE} 1 right java smp=2\n{CODE} 2 wrong perl smp=4: status 134: 'free()'\n{OTHER} 3 wrong xz\n"
HOSTILE = (
    f"{CODE} 4 maybe java", f"{CODE} 4 right", f"{CODE} -4 right java", f"{CODE} {10**10} right java", "right", "",
    f"{CODE[1:]} 4 right java", f"{CODE} 4 right java\x1b[31m", f"{CODE} 4  right java", f"{CODE} \u0664 right java",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of the file."""
    return tmp_path / "results/soak"


def read(path: Path, text: str, resume: bool = True) -> Results:
    """A file with this text."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return Results(path, CODE, resume)


def test_lines_of_this_code_count(path: Path) -> None:
    """A wrong one, too; those of other code do not."""
    results = read(path, GOOD)
    assert sorted(results.lines) == [1, 2]
    assert [line.split()[1] for line in results.wrong()] == ["2"]


def test_resume_keeps_the_file(path: Path) -> None:
    """What is added comes after what is there, and is read again. A seed counts once."""
    results = read(path, GOOD)
    results.add(5, True, "node smp=2")
    results.add(5, True, "node smp=2")
    assert path.read_text(encoding="utf-8").startswith(GOOD)
    assert sorted(Results(path, CODE, True).lines) == [1, 2, 5]


def test_without_resume_it_begins_anew(path: Path) -> None:
    """Nothing of what was there counts, and there need be neither file nor folder."""
    assert read(path, GOOD, resume=False).lines == {}
    assert path.read_text(encoding="utf-8") == HEADER
    path.unlink()
    path.parent.rmdir()
    Results(path, CODE, True).add(7, False, "node")
    assert len(Results(path, CODE, True).wrong()) == 1


def test_a_line_that_is_none_is_refused(path: Path) -> None:
    """In one line that names file and line, and shows nothing that a terminal obeys."""
    for line in HOSTILE:
        with pytest.raises(Died) as died:
            read(path, f"{HEADER}{line}\n")
        assert re.search(r"/soak:3: not 'CODE SEED right\|wrong WHAT': ", str(died.value))
        assert str(died.value).isprintable()


def test_an_unfinished_line_is_refused(path: Path) -> None:
    """What a write that was cut off has left: another line would become a part of it."""
    with pytest.raises(Died):
        read(path, GOOD.rstrip("\n"))


def test_sources_and_choice_make_the_code() -> None:
    """Other folders and other bases are other code."""
    codes = {code_of(["vmcb"]), code_of(["vmcb", "kvm/engine"]), code_of(["vmcb"], "qemu-10.9")}
    assert len(codes) == 3
    assert code_of(["vmcb"]) == code_of(["vmcb"])


def test_a_comment_is_no_code() -> None:
    """Nor is white space; a string is."""
    texts = ("int f; /* a */\n", "int  f;\n// it's b\n", 'char *f = "/* a */";\n', 'char *f = "/* b */";\n')
    codes = [results._code("f.c", text.encode()) for text in texts]  # pylint: disable=protected-access
    assert codes[0] == codes[1]
    assert len({*codes}) == 3


def test_what_is_around_hunks_is_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch that moves, is renamed, or is written by another git is the same code."""
    monkeypatch.setattr(results, "TOP", tmp_path)
    patch = "Subject: a\n---\n%sdiff --git a/f b/f\n%s--- a/f\n+++ b/f\n@@ -%d +%d @@%s\n-a\n+%s\n%s"
    codes = []
    for n, words in enumerate((
        ("", "", 1, 1, "", "b", ""), (" f | 2 +-\n\n", "index 12..34\n", 7, 9, " f()", "b", "-- \n2.39.5\n\n"),
        ("", "", 1, 1, "", "c", ""),
    )):
        (tmp_path / str(n)).mkdir()
        (tmp_path / f"{n}/000{n}-a.patch").write_text(patch % words, encoding="utf-8")
        codes.append(code_of([str(n)]))
    assert codes[0] == codes[1] and codes[0] != codes[2]
