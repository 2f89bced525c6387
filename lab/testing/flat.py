# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test flat: the bare-metal conformance tests in QEMU, whose rows flatrun runs and judges, and QEMU's part of
LWP for the other compiler."""

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.building import qemu, tools
from lab.checks import qemu_warnings
from lab.checks.sources import problems
from lab.common import places, proc
from lab.common.report import Report
from lab.testing import debug
from lab.testing.part import Case, Part, quoted

TESTS = places.TOP / "guest-tests/flat/tests"
CLANG = "compile-clang"
CLANG_LINE = "QEMU's part of LWP compiles with clang and warnings as errors"
IMAGE = places.HOST / "guest-tests/flat/flat.elf"


def flatrun(*options: object, accel: str = "tcg") -> list[str]:
    """A command line of flatrun."""
    emulator = ("--qemu", places.qemu(), "--firmware", places.FIRMWARE, "--accel", accel)
    return [str(places.FLATRUN), *map(str, emulator), *map(str, options)]


def only(names: Sequence[str]) -> list[str]:
    """flatrun's options for the rows of these names."""
    return [word for name in names for word in ("--only", name)]


@dataclass(frozen=True)
class Row:
    """A row of flatrun's table."""

    name: str
    test: str
    command: list[str]

    def line(self) -> str:
        """What the test is about, by the comment at its head, and the processor and words of this row."""
        head = (TESTS / f"{self.test}.c").read_text(encoding="utf-8")
        comment = re.search(r"/\*(.*?)\*/", head[head.index("\n"):], re.DOTALL)
        text = " ".join((comment[1] if comment else "").replace(" *", " ").split())
        sentence = re.match(r".*?[.;](?= |$)|.*", text)
        words = self.command[self.command.index("-append") + 1].split()[2:]
        cpu = self.command[self.command.index("-cpu") + 1]
        return f"{sentence[0] if sentence else ''} [{' '.join([cpu, *words])}]"


def rows() -> list[Row]:
    """All rows."""
    lines = [line.split("\t") for line in proc.output(flatrun("--print")).splitlines()]
    return [Row(name, test, command) for name, test, *command in lines]


class Flat(Part):
    """The rows of flatrun's table."""

    name = "flat"

    def prepare_names(self) -> None:
        tools.build()

    def prepare(self) -> None:
        qemu.ensure()

    def cases(self) -> list[Case]:
        own = Case(CLANG, CLANG_LINE, _compiles_with_clang)
        return [own, *(Case(row.name, row.line(), _run(row), quoted(row.command), _gdb(row)) for row in rows())]

    def run(self, cases: Sequence[Case], report: Report) -> None:
        """All rows in one flatrun, which runs several at a time."""
        names = [case.name for case in cases if case.name != CLANG]
        if len(names) < len(cases):
            _compiles_with_clang(report)
        if names:
            _flatrun([] if len(names) == len(rows()) else only(names), report)


def _flatrun(options: Sequence[str], report: Report) -> None:
    command = flatrun(*options)
    child = proc.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
    assert child.stdout
    last = ""
    for last in child.stdout:
        report.line(last.rstrip("\n"))
    proc.wait(child)
    report.add_closing(last, "flatrun")


def _compiles_with_clang(report: Report) -> None:
    """gcc compiles all of QEMU with warnings as errors when it is built."""
    out = qemu.out_dir("vlwp")
    if qemu_warnings.compiled(out):
        report.check(CLANG_LINE, lambda check: problems(check, qemu_warnings.problems(out, "clang")))
    else:
        report.skip(f"{CLANG_LINE}: VLWP_QEMU names another emulator, whose sources are not here")


def _run(row: Row) -> Callable[[Report], object]:
    return lambda report: _flatrun(only([row.name]), report)


def _gdb(row: Row) -> Callable[[Report], int]:
    return lambda report: debug.flat(row.command, IMAGE, report.work)


PART = Flat()
