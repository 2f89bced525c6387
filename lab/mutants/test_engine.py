# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of engine.py, with a builder that only pretends, and of the choice of a share."""

import tempfile
import unittest
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lab.common.c_source import Tree
from lab.mutants.engine import Verdict, judge, outcomes, sums
from lab.mutants.listed import Mutant, Test
from lab.mutants.soak import share

SOURCE = "int f(int a) { return a + 1; }\n"


class Pretender:
    """A builder whose compiler refuses "?" and whose tests fail if the copy contains their name."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.built: list[str] = []

    def place(self, file: str) -> Path:
        """The copy of a file."""
        return self.folder / file.replace("/", "-")

    def build(self, tests: Sequence[Test]) -> str:
        """Take the text of the copy."""
        self.built.append(self.place("src/f.c").read_text(encoding="utf-8"))
        return "f.c:1: error: ?" if "?" in self.built[-1] else ""

    def red(self, test: Test) -> bool:
        """Does the test fail?"""
        return test.name in self.built[-1]


class Verdicts(unittest.TestCase):
    """What is said of a mutant."""

    def setUp(self) -> None:
        top = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (top / "src").mkdir()
        (top / "src/f.c").write_text(SOURCE, encoding="utf-8")
        self.tree, self.builder = Tree(top, ["src"]), Pretender(top)

    def mutant(self, was: str, now: str, *tests: str) -> Mutant:
        """A mutant in f()."""
        return Mutant("x.list:1", "", "f", was, 0, now, [Test("p", test) for test in tests])

    def verdict(self, was: str, now: str, *tests: str) -> tuple[Verdict, str]:
        """The verdict on it, and why."""
        outcome = judge(self.mutant(was, now, *tests), self.tree, self.builder)
        return outcome.verdict, outcome.reason

    def test_killed_if_all_tests_are_red(self) -> None:
        self.assertEqual(self.verdict("1", "2", "2", "a"), (Verdict.KILLED, ""))

    def test_survived_if_one_test_is_green(self) -> None:
        self.assertEqual(self.verdict("1", "2", "2", "3"), (Verdict.SURVIVED, "not noticed by 3"))

    def test_broken_if_it_does_not_compile(self) -> None:
        reason = "does not compile: f.c:1: error: ?"
        self.assertEqual(self.verdict("1", "?", "2"), (Verdict.BROKEN, reason))

    def test_broken_if_it_does_not_fit(self) -> None:
        reason = "x.list:1: '7' occurs not at all in f"
        self.assertEqual(self.verdict("7", "8", "8"), (Verdict.BROKEN, reason))
        self.assertEqual(self.builder.built, [])

    def test_the_copy_is_restored(self) -> None:
        for now in ("2", "3", "?"):
            self.verdict("1", now, "2")
            self.assertEqual(self.builder.place("src/f.c").read_text(encoding="utf-8"), SOURCE)

    def test_the_sums(self) -> None:
        mutants = [self.mutant("1", "2", "2"), self.mutant("1", "2", "3"), self.mutant("+", "-", "-")]
        found = Counter(outcome.verdict for outcome in outcomes(mutants, self.tree, self.builder))
        self.assertEqual(sums(found), "2 killed, 1 survived, 0 broken")


class Share(unittest.TestCase):
    """A random part of the mutants."""

    def test_a_tenth_in_the_order_of_the_list(self) -> None:
        mutants = [Mutant(f"x.list:{at}") for at in range(101)]
        part = share(mutants, 10, 7)
        self.assertEqual(len(part), 11)
        self.assertEqual(part, [mutant for mutant in mutants if mutant in part])

    def test_a_seed_chooses_the_same_again(self) -> None:
        mutants = [Mutant(f"x.list:{at}") for at in range(100)]
        self.assertEqual(share(mutants, 10, 7), share(mutants, 10, 7))
        self.assertNotEqual(share(mutants, 10, 7), share(mutants, 10, 8))

    def test_at_least_one(self) -> None:
        self.assertEqual(len(share([Mutant("x.list:1")], 10, 1)), 1)
