# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of listed.py: reading lists, finding the place of a mutant, applying it."""

import tempfile
import unittest
from pathlib import Path

from lab.common.c_source import Tree, words
from lab.mutants.listed import Mutant, MutantError, Test, applied, chosen, read_list

LIST = """\
# A comment.

check: a >= b => a > b
red: tests/test_ring ring::full

# ---- another section ----
ring.c:helper: return
    1 #2
    =>
red: tests/test_ring
red: tests/test_cb cb::wraps
"""

RING = """\
#define SIZE 4
static int helper(int a) { if (a) return 1; return 1; }
int check(int a, int b)
{
    return a >= b; /* a >= b */
}
"""


class Files(unittest.TestCase):
    """Tests that need files."""

    def setUp(self) -> None:
        self.top = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write("src/ring.c", RING)

    def write(self, name: str, text: str) -> Path:
        """A file of the repository."""
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


class Lists(Files):
    """The form of a list."""

    def read(self, text: str) -> list[Mutant]:
        """The mutants of a list with this text."""
        return read_list(self.write("x.list", text), "x.list")

    def refused(self, text: str, reason: str) -> None:
        """This list is refused, with FILE:LINE and the reason."""
        with self.assertRaises(MutantError) as caught:
            self.read(text)
        self.assertEqual(str(caught.exception), reason)

    def test_a_fault_is_a_place_a_change_and_tests(self) -> None:
        first, second = self.read(LIST)
        self.assertEqual((first.place, first.was, first.now), ("check", "a >= b", "a > b"))
        self.assertEqual(first.tests, [Test("tests/test_ring", "ring::full")])
        self.assertEqual(first.where, "x.list:3")
        self.assertEqual((second.file, second.name), ("ring.c", "helper"))
        self.assertEqual((second.was, second.occurrence, second.now), ("return 1", 2, ""))
        self.assertEqual([test.name for test in second.tests], ["", "cb::wraps"])

    def test_faults_in_a_row_share_the_tests_below_them(self) -> None:
        mutants = self.read("f: a => b\ng: a => b\nred: t\nred: u\nh: a => b\nred: v\n")
        self.assertEqual([[test.program for test in one.tests] for one in mutants], [["t", "u"], ["t", "u"], ["v"]])

    def test_a_fault_is_shown_as_the_list_writes_it(self) -> None:
        shown = [str(mutant) for mutant in self.read(LIST)]
        self.assertEqual(shown, ["check: a >= b => a > b", "ring.c:helper: return 1 #2 =>"])

    def test_errors_name_file_and_line(self) -> None:
        self.refused("f: a => b\n\ng: a => b\nred: t\n", "x.list:1: this mutant lacks red:")
        self.refused("f: a => b\n# g\nred: t\n", "x.list:1: this mutant lacks red:")
        self.refused("\nf: a => b\n", "x.list:2: this mutant lacks red:")
        self.refused("f\nred: t\n", "x.list:1: a line is PLACE: WAS => NOW, or begins with red: or #")
        self.refused("red: t\n", "x.list:1: red: takes a test of the mutants before it")
        self.refused("f: a => b\nred:\n", "x.list:2: red: takes a test of the mutants before it")
        self.refused("f: a = b\n", "x.list:1: a change is written WAS => NOW")
        self.refused("f: a+b => a + b\n", "x.list:1: this change changes nothing")
        self.refused("f: => b\n", "x.list:1: this change changes nothing")

    def test_faults_are_chosen_by_place_or_test(self) -> None:
        mutants = self.read(LIST)
        self.assertEqual(chosen(mutants, []), mutants)
        self.assertEqual(chosen(mutants, ["full"]), mutants[:1])
        self.assertEqual(chosen(mutants, ["test_cb", "ring::full"]), mutants)
        self.assertEqual(chosen(mutants, ["nowhere"]), [])


class Changes(Files):
    """Where a mutant applies, and what it makes of the text."""

    def apply(self, name: str, was: str, now: str, *, file: str = "", occurrence: int = 0) -> str:
        """The text with this mutant."""
        mutant = Mutant("x.list:1", file, name, was, occurrence, now)
        return applied(mutant, Tree(self.top, ["src"]))[1]

    def refused(self, reason: str, name: str, was: str, file: str = "", occurrence: int = 0) -> None:
        """This mutant does not fit, for this reason."""
        with self.assertRaises(MutantError) as caught:
            self.apply(name, was, "0", file=file, occurrence=occurrence)
        self.assertEqual(str(caught.exception), f"x.list:1: {reason}")

    def test_only_the_definition_changes(self) -> None:
        text = self.apply("check", "a>=b", "a > b")
        self.assertEqual(words(text), words(RING.replace("return a >= b", "return a > b")))
        self.assertIn("/* a >= b */", text)

    def test_layout_comments_and_other_statements_do_not_matter(self) -> None:
        self.write("src/ring.c", "int check(int a, int b)\n{ log(); return a /* >= */\n\t\t>= b; }")
        self.assertIn("a > b", self.apply("check", "a >= b", "a > b"))

    def test_a_moved_function_keeps_its_faults(self) -> None:
        self.write("src/ring.c", "")
        self.write("src/deep/moved.h", RING)
        self.assertIn("a > b", self.apply("check", "a >= b", "a > b"))

    def test_the_value_of_a_macro(self) -> None:
        self.assertIn("#define SIZE  5 ", self.apply("SIZE", "4", "5"))

    def test_nothing_on_the_right_deletes(self) -> None:
        text = self.apply("helper", "if (a) return 1;", "")
        self.assertEqual(words(text), words(RING.replace("if (a) return 1;", "")))

    def test_an_occurrence_can_be_named(self) -> None:
        text = self.apply("helper", "return 1", "return 2", occurrence=2)
        self.assertLess(text.index("return 1"), text.index("return 2"))
        self.refused("'return 1' occurs 2 times in helper", "helper", "return 1")
        self.refused("'return 1' occurs 2 times in helper", "helper", "return 1", occurrence=3)

    def test_what_is_not_there_is_refused(self) -> None:
        self.refused("nothing defines 'gone'", "gone", "a")
        self.refused("'a <= b' occurs not at all in check", "check", "a <= b")
        self.refused("nothing defines 'cb.c:check'", "check", "a", file="cb.c")

    def test_an_ambiguous_name_needs_its_file(self) -> None:
        self.write("src/cb.c", "static int helper(int b) { return b; }")
        self.refused("'helper' is defined 2 times: src/cb.c, src/ring.c", "helper", "b")
        self.assertIn("return 0 ;", self.apply("helper", "return b", "return 0", file="cb.c"))

    def test_a_table_of_macro_calls_is_named_by_its_file(self) -> None:
        self.write("src/events.h", "/* a table */\nROW(IRE, 2)\nROW(BRE, 3)\n")
        self.assertIn("ROW(BRE, 2 )", self.apply("events.h", "3", "2").replace("  ", " "))

    def test_no_fault_is_put_into_a_test(self) -> None:
        self.write("src/tests/test_ring.c", "int in_a_test(void) { return 1; }")
        self.refused("nothing defines 'in_a_test'", "in_a_test", "1")
