# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test flat: the bare-metal conformance tests in QEMU, whose rows flatrun runs and judges, and QEMU's part of
LWP for the other compiler."""

import re
import subprocess
from collections.abc import Callable, Sequence

from lab.building import qemu, qemu_other, tools
from lab.checks import qemu_warnings
from lab.checks.sources import problems
from lab.common import places, proc
from lab.common.report import Check, Report
from lab.testing import conformance, debug, emulator, placed, seeds, snapshots
from lab.testing.part import Case, Part, quoted
from lab.testing.suite import ROWS, RUNNER, Row

TESTS = places.TOP / "guest-tests/flat/tests"
CLANG = "compile-clang"
CLANG_LINE = "QEMU's part of LWP compiles with clang and warnings as errors"
NO_TCG = "compile-no-tcg"
NO_TCG_LINE = "QEMU's part of LWP compiles with --disable-tcg, and its names are resolved"
BITS_32 = "compile-32-bits"
BITS_32_LINE = "QEMU's part of LWP compiles for a host of 32 bits"
PLACES_LINE = "a random tenth of ./vlwp soak places, for 20 s: rows whose memory lies in devices and other odd places"
PLACES_SECONDS = 20
IMAGE = places.HOST / "guest-tests/flat/flat.elf"


def flatrun(*options: object, accel: str = "tcg") -> list[str]:
    """A command line of flatrun."""
    emulator = ("--qemu", places.qemu(), "--firmware", places.FIRMWARE, "--image", IMAGE, "--accel", accel)
    return [str(RUNNER / "flatrun.py"), *map(str, emulator), *map(str, options)]


def only(names: Sequence[str]) -> list[str]:
    """flatrun's options for the rows of these names."""
    return [word for name in names for word in ("--only", name)]


def line_of(row: Row) -> str:
    """What the test is about, by the comment at its head, and the processor and words of this row."""
    head = (TESTS / f"{row.test or row.name}.c").read_text(encoding="utf-8")
    comment = re.search(r"/\*(.*?)\*/", head[head.index("\n"):], re.DOTALL)
    text = " ".join((comment[1] if comment else "").replace(" *", " ").split())
    sentence = re.match(r".*?[.;](?= |$)|.*", text)
    return f"{sentence[0] if sentence else ''} [{' '.join(filter(None, [row.model, row.cpu, row.args]))}]"


def command(row: Row) -> list[str]:
    """The command line of a row."""
    return row.command(places.qemu(), IMAGE, "tcg", places.FIRMWARE)


def offered() -> list[tuple[str, list[str]]]:
    """The rows that TCG can run, and their command lines."""
    return [(row.name, command(row)) for row in ROWS if row.offered("tcg")]


class Flat(Part):
    """The rows of flatrun's table."""

    name = "flat"

    def prepare_names(self) -> None:
        tools.build()

    def prepare(self) -> None:
        qemu.ensure()

    def cases(self) -> list[Case]:
        own = [
            Case(CLANG, CLANG_LINE, _compiles_with_clang),
            Case(BITS_32, BITS_32_LINE, _compiles_for_32_bits),
            Case(NO_TCG, NO_TCG_LINE, _compiles_without_tcg),
            Case("places", PLACES_LINE, _places),
        ]
        of_rows = [Case(row.name, line_of(row), _run(row), quoted(command(row)), _gdb(row)) for row in ROWS]
        return [*own, *emulator.cases(), *conformance.cases(), *snapshots.cases(), *of_rows]

    def run(self, cases: Sequence[Case], report: Report) -> None:
        """All rows in one flatrun, which runs several at a time."""
        known = {row.name for row in ROWS}
        names = [case.name for case in cases if case.name in known]
        for case in cases:
            if case.name not in known:
                case.go(report)
        if names:
            _flatrun([] if len(names) == len(ROWS) else only(names), report)


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


def _compiles_for_32_bits(report: Report) -> None:
    """QEMU 10.0 is built for hosts of 32 bits, too."""
    out, headers = qemu.out_dir("vlwp"), report.work / "headers-32"
    if qemu_warnings.compiled(out):
        headers.mkdir()
        report.check(BITS_32_LINE, lambda check: problems(check, qemu_warnings.problems_32(out, headers)))
    else:
        report.skip(f"{BITS_32_LINE}: VLWP_QEMU names another emulator, whose sources are not here")


def _without_tcg(check: Check) -> None:
    missing = qemu_other.unresolved(qemu_other.objects(qemu_other.NO_TCG, check))
    check.want(not missing, f"it would not link: {' '.join(sorted(missing))}")


def _compiles_without_tcg(report: Report) -> None:
    """`./vlwp soak builds no-tcg` links it, too."""
    if qemu_warnings.compiled(qemu.out_dir("vlwp")):
        report.check(NO_TCG_LINE, _without_tcg)
    else:
        report.skip(f"{NO_TCG_LINE}: VLWP_QEMU names another emulator, whose sources are not here")


def _places(report: Report) -> None:
    seed = seeds.draw()
    report.line(f"places: seed {seed}, again with ./vlwp soak places --seed={seed}")
    placed.run(placed.tenth(placed.cases(offered()), seed), report, PLACES_SECONDS)


def _run(row: Row) -> Callable[[Report], object]:
    return lambda report: _flatrun(only([row.name]), report)


def _gdb(row: Row) -> Callable[[Report], int]:
    return lambda report: debug.flat(command(row), IMAGE, report.work)


PART = Flat()
