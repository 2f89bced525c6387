# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of the steps of a series."""

import pytest

from lab.building.qemu_tree import new_files, series
from lab.common.say import Died
from lab.series.steps import SERIES, Change, File, Plan, Step

TEXT = """\
/* A file. */
#include "a/first.h"
#include "a/second.h"

#define ONE 1
#define TWO 2

/* What it is. */
typedef struct Thing {
    int one;

    int two;
} Thing;

static int first(Thing *t)
{
    int n = t->one;

    n += t->two;
    return n;
}

int second(Thing *t)
{
    return first(t) + ONE;
}
"""


def at(number: int, *steps: Step, text: str = TEXT) -> str:
    """A file that begins in the first step."""
    found = File("a/file.c", text, [Step(new=["a/file.c"]), *steps]).at(number)
    assert found is not None
    return found


def test_what_no_step_claims_comes_with_its_file() -> None:
    """And is not there before."""
    file = File("a/file.c", TEXT, [Step(), Step(new=["a/file.c"])])
    assert file.at(0) is None
    assert file.at(1) == TEXT


def test_an_item_comes_with_its_comment_and_its_blank_line() -> None:
    """Whatever else names it in a body or among parameters."""
    thing, function = Step(items={"a/file.c": ["Thing"]}), Step(items={"a/file.c": ["first"]})
    assert "/* What it is. */" not in at(0, thing) and "Thing *t" in at(0, thing)
    assert at(0, function) == TEXT[:TEXT.index("\nstatic")] + TEXT[TEXT.index("\nint second"):]
    assert at(1, function) == TEXT


def test_an_item_of_macros_comes_by_any_of_its_names() -> None:
    """The group comes as a whole."""
    assert "#define" not in at(0, Step(items={"a/file.c": ["TWO"]}))


def test_lines_come_whole_and_leave_no_gaps() -> None:
    """No blank line at the edge of a block, none in pairs."""
    lines = Step(lines={"a/file.c": ["two;$", r"n = t->one"]})
    assert "    int one;\n} Thing;\n" in at(0, lines)
    assert "{\n    return n;\n}" in at(0, lines)
    assert at(1, lines) == TEXT


def test_lines_of_an_item_that_come_later_than_it() -> None:
    """The later step counts."""
    steps = Step(items={"a/file.c": ["first"]}), Step(lines={"a/file.c": [r"n \+= t"]})
    assert "n += t" not in at(1, *steps) and "return n" in at(1, *steps)
    assert "n += t" in at(2, *steps)


def test_an_include_and_a_source_wait_for_the_file() -> None:
    """Of that name, in any folder."""
    later = Step(new=["b/second.h", "b/first.c"])
    assert "first.h" in at(0, later) and "second.h" not in at(0, later)
    assert at(0, later, text="files(\n  'first.c',\n  'other.c',\n)\n") == "files(\n  'other.c',\n)\n"


def test_a_claim_of_one_base_need_not_be_there() -> None:
    """If it is, it counts as any other."""
    steps = [Step(lines={"a/file.c": ["?^#define THREE.*", "?^#define TWO 2$"]},
                  before={"a/file.c": [("?third(t)", "second(t)"), ("?first(t) + ONE", "first(t)")]})]
    assert "TWO" not in at(0, *steps) and "return first(t);" in at(0, *steps)
    assert at(1, *steps) == TEXT


def test_a_text_is_another_one_until_its_step() -> None:
    """Also in two turns."""
    steps = [Step(before={"a/file.c": [("first(t) + TWO", "first(t)")]}),
             Step(before={"a/file.c": [("first(t) + ONE", "first(t) + TWO")]})]
    assert "return first(t);" in at(0, *steps)
    assert "return first(t) + TWO;" in at(1, *steps)
    assert at(2, *steps) == TEXT


@pytest.mark.parametrize(("step", "why"), [
    (Step(items={"a/file.c": ["third"]}), "0 items are called third"),
    (Step(lines={"a/file.c": ["three"]}), "no line is like 'three'"),
    (Step(new=["a/file.c"]), "begins in 2 steps"),
    (Step(before={"a/file.c": [("third", "fourth")]}), "'third' is there 0 times"),
])
def test_a_claim_of_nothing_is_refused(step: Step, why: str) -> None:
    """In one line that says where."""
    with pytest.raises(Died, match=f"a/file.c: .*{why}"):
        at(1, step)


def test_an_item_of_two_is_refused() -> None:
    """Which one is meant nobody knows."""
    with pytest.raises(Died, match="2 items are called twice"):
        at(0, Step(items={"a/file.c": ["twice"]}), text="int twice;\n\nint twice(void);\n")


def test_lines_of_any_file() -> None:
    """Need not be in each."""
    assert "two;" not in at(0, Step(lines={"*": ["two;$", "four"]}))


def test_prototypes_wait_for_the_file_that_their_comment_names() -> None:
    """The next group does not."""
    text = "int a;\n\n/* The first: later.c */\nvoid one(void);\n\n/* other.c */\nvoid two(void);\n"
    assert at(0, Step(new=["b/later.c"]), text=text) == "int a;\n\n/* other.c */\nvoid two(void);\n"


BEFORE = "zero\none\ntwo\nthree\n"
AFTER = "zero\nnew\nother\ntwo\nthird\n"
HUNKS = "@@ -2 +2,2 @@\n-one\n+new\n+other\n@@ -4 +5 @@\n-three\n+third\n"


@pytest.mark.parametrize(("lines", "wanted"), [
    ((), AFTER),
    (["third"], "zero\nnew\nother\ntwo\nthree\n"),
    (["other"], "zero\nnew\ntwo\nthird\n"),
    (["new", "third"], "zero\none\nother\ntwo\nthree\n"),
])
def test_what_hooks_replace_goes_with_the_first_line_of_its_place(lines: list[str], wanted: str) -> None:
    """The other lines have steps of their own."""
    steps = [Step(new=["a/file.c"]), Step(lines={"a/file.c": lines})]
    file = Change("a/file.c", BEFORE, AFTER, HUNKS, steps)
    assert file.at(0) == wanted and file.at(1) == AFTER


def test_what_hooks_add_and_remove() -> None:
    """Added lines come one by one; the file is not there before its first step."""
    hunks = "@@ -0,0 +1,2 @@\n+a\n+b\n@@ -2 +3,0 @@\n-two\n"
    file = Change("a/file.c", "one\ntwo\n", "a\nb\none\n", hunks,
                  [Step(), Step(new=["a/file.c"]), Step(lines={"a/file.c": ["^b$"]})])
    assert [file.at(number) for number in range(3)] == [None, "a\none\n", "a\nb\none\n"]


@pytest.mark.parametrize("name", SERIES)
def test_the_steps_fit_this_tree(name: str) -> None:
    """Each has all that it names, and the last all of our files."""
    plan = Plan(name, new_files(), series(name))
    for number in range(len(plan.steps)):
        texts = {name: plan.at(file, number) for name, file in plan.files.items()}
    assert (texts == {name: file.text for name, file in plan.files.items()}) == (name == [*SERIES][-1])
