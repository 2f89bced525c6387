# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdicts. Each mutant is put into a copy of the sources, its tests are built and run, and the
copy is restored. A Builder knows the copy, and how its tests are built and run."""

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lab.common.c_source import Tree
from lab.mutants.listed import Mutant, MutantError, Test, applied


class Builder(Protocol):
    """A copy of the sources, and the tests that are built from it."""

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""

    def build(self, tests: Sequence[Test]) -> str:
        """Build what these tests need. Result: the first error, "" if there is none."""

    def red(self, test: Test) -> bool:
        """Run a test. Does it fail?"""


class Verdict(enum.Enum):
    """What became of a mutant."""

    KILLED = "killed"  # every test that it names is red
    SURVIVED = "SURVIVED"  # some test is not
    BROKEN = "BROKEN"  # it does not fit the sources, or they do not compile with it


@dataclass(frozen=True)
class Outcome:
    """A mutant and its verdict."""

    mutant: Mutant
    verdict: Verdict
    reason: str = ""

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.verdict.value:<9} {self.mutant}{reason}"


def judge(mutant: Mutant, tree: Tree, builder: Builder) -> Outcome:
    """Try one mutant."""
    try:
        source, text = applied(mutant, tree)
    except MutantError as err:
        return Outcome(mutant, Verdict.BROKEN, str(err))
    file = builder.place(source.path)
    try:
        file.write_text(text, encoding="utf-8")
        error = builder.build(mutant.tests)
        if error:
            return Outcome(mutant, Verdict.BROKEN, f"does not compile: {error}")
        green = [test.name or test.program for test in mutant.tests if not builder.red(test)]
    finally:
        file.write_text(source.text, encoding="utf-8")
    if green:
        return Outcome(mutant, Verdict.SURVIVED, f"not noticed by {', '.join(green)}")
    return Outcome(mutant, Verdict.KILLED)


def outcomes(mutants: Sequence[Mutant], tree: Tree, builder: Builder) -> Iterator[Outcome]:
    """Try mutants, one after the other."""
    for mutant in mutants:
        yield judge(mutant, tree, builder)


def sums(counted: Counter[Verdict]) -> str:
    """How many mutants have which verdict."""
    return ", ".join(f"{counted[verdict]} {verdict.value.lower()}" for verdict in Verdict)
