# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdicts. Each fault is put into a copy of the sources, its tests are built and run, and the
copy is restored. A Builder knows the copy, and how its tests are built and run."""

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lab.common.c_source import Tree
from lab.mutants.faults import Fault, FaultError, Test, applied


class Builder(Protocol):
    """A copy of the sources, and the tests that are built from it."""

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""

    def build(self, tests: Sequence[Test]) -> str:
        """Build what these tests need. Result: the first error, "" if there is none."""

    def red(self, test: Test) -> bool:
        """Run a test. Does it fail?"""


class Verdict(enum.Enum):
    """What became of a fault."""

    KILLED = "killed"  # every test that it names is red
    SURVIVED = "SURVIVED"  # some test is not
    BROKEN = "BROKEN"  # it does not fit the sources, or they do not compile with it


@dataclass(frozen=True)
class Outcome:
    """A fault and its verdict."""

    fault: Fault
    verdict: Verdict
    reason: str = ""

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.verdict.value:<9} {self.fault}{reason}"


def judge(fault: Fault, tree: Tree, builder: Builder) -> Outcome:
    """Try one fault."""
    try:
        source, text = applied(fault, tree)
    except FaultError as err:
        return Outcome(fault, Verdict.BROKEN, str(err))
    file = builder.place(source.path)
    try:
        file.write_text(text, encoding="utf-8")
        error = builder.build(fault.tests)
        if error:
            return Outcome(fault, Verdict.BROKEN, f"does not compile: {error}")
        green = [test.name or test.program for test in fault.tests if not builder.red(test)]
    finally:
        file.write_text(source.text, encoding="utf-8")
    if green:
        return Outcome(fault, Verdict.SURVIVED, f"not noticed by {', '.join(green)}")
    return Outcome(fault, Verdict.KILLED)


def outcomes(faults: Sequence[Fault], tree: Tree, builder: Builder) -> Iterator[Outcome]:
    """Try faults, one after the other."""
    for fault in faults:
        yield judge(fault, tree, builder)


def sums(counted: Counter[Verdict]) -> str:
    """How many faults have which verdict."""
    return ", ".join(f"{counted[verdict]} {verdict.value.lower()}" for verdict in Verdict)
