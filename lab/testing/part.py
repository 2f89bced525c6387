# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of ./vlwp test: a list of cases that can be named, printed, and run alone. Adding a part: a module with a
class, and a row in lab/start/test.py."""

import fnmatch
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.common.report import Report
from lab.common.say import SKIPPED, Stop, alive


def quoted(argv: Sequence[object]) -> str:
    """A command line as a shell takes it."""
    return shlex.join(str(word) for word in argv)


@dataclass
class Case:
    """One test that can be asked for by name."""

    name: str
    line: str  # what --list says of it
    run: Callable[[Report], object]
    # What --print shows, or what makes it; empty: the test is code of the lab, and the place of its function is shown.
    command: str | Callable[[], str] = ""

    def matches(self, pattern: str) -> bool:
        """Is it meant by a name, a part of a name, or a pattern as of a shell?"""
        return pattern in self.name or fnmatch.fnmatchcase(self.name, pattern)

    def go(self, report: Report) -> None:
        """Run it. One that cannot be carried out does not end the others."""
        try:
            with alive(self.name):
                self.run(report)
        except Stop as err:
            if err.status == SKIPPED:
                report.skip(f"{self.name}: {err}")
            else:
                report.not_ok(f"{self.name}: {err}")

    def shown(self) -> str:
        """What --print shows."""
        if self.command:
            return self.command if isinstance(self.command, str) else self.command()
        code = getattr(getattr(self.run, "func", self.run), "__code__", None)
        return f"# {code.co_filename}:{code.co_firstlineno}" if code else f"# {self.run}"


class Part:
    """The base of all parts."""

    name = ""
    summary = ""

    def prepare_names(self) -> None:
        """Build what it takes to know the cases, if it is out of date."""

    def prepare(self) -> None:
        """Build what all cases need to run, if it is out of date."""

    def cases(self) -> list[Case]:
        """All cases, in the order in which they run. Called after prepare_names()."""
        raise NotImplementedError

    def run(self, cases: Sequence[Case], report: Report) -> None:
        """Run the chosen cases."""
        for case in cases:
            case.go(report)


def choose(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """The cases that are meant: by their whole names if there are such, else by patterns; without names all."""
    if not names:
        return list(cases)
    exact = {case.name for case in cases}
    return [c for c in cases if any(c.name == n if n in exact else c.matches(n) for n in names)]
