# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp export promises: the series apply, each patch says what it is, and checkpatch has no complaint but those
that the cover letter names."""

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.building import linux as linux_source
from lab.building import qemu_tree
from lab.common import proc
from lab.common.places import TOP
from lab.common.report import Check, Report
from lab.series.export import copy_touched
from lab.series.tree import Tree, author
from lab.testing.part import Case

VLWP = TOP / "vlwp"
TESTER = "A. Tester <tester@example.org>"
# New files without an entry in MAINTAINERS are what maintainers decide.
EXPECTED = ["does MAINTAINERS need updating"]
# The shared files keep the kernel's style, the opcode table its own.
EXPECTED_QEMU = [
    *("code indent should never use tabs", "braces .. are necessary", "line over [89]0 char"),
    *("Macros with complex values", "architecture specific defines", r"-decode-the-LWP-instructions\.patch:"),
]


def patches_in(series: Path) -> list[Path]:
    """The patches of a series, in order, without its cover letter."""
    return sorted(file for file in series.glob("*.patch") if not file.name.startswith("0000-"))


def written(check: Check) -> None:
    """Both series, exported into the part's private folder."""
    check.run([VLWP, "export", check.work / "series"])


def applies(check: Check, series: str, pristine: Path) -> None:
    """git am on the files of a source that a series touches."""
    patches, place = patches_in(check.work / "series" / series), check.work / f"tree-{series}-{pristine.name}"
    check.want(patches, "there is no series")
    copy_touched(pristine, patches, place)
    Tree(place, author(), check.log).git("am", *patches)


def checkpatch(check: Check, series: str, pristine: Path, expected: Sequence[str]) -> None:
    """The source's own script has no complaint but those that are expected."""
    patches = proc.words(patches_in(check.work / "series" / series))
    _, out = check.text(["perl", "scripts/checkpatch.pl", "--no-tree", "--terse", "-q", *patches], cwd=pristine)
    check.want(patches, "there is no series")
    complaints = [line for line in out.splitlines() if re.search(r": (ERROR|WARNING|CHECK): ", line)]
    left = [line for line in complaints if not re.search("|".join(expected), line)]
    check.want(not left, "\n".join(left))


def signed_by_another(check: Check) -> None:
    """Whoever exports may sign off."""
    place = check.work / "other"
    check.run([VLWP, "export", f"--as={TESTER}", place])
    patches = patches_in(place / "linux") + patches_in(place / "qemu")
    check.want(patches, "there is no series")
    for patch in patches:
        signed = re.findall("^Signed-off-by: (.*)$", patch.read_text(encoding="utf-8"), re.MULTILINE)
        check.want(TESTER in signed and not any("vlwp" in name for name in signed), f"{patch.name}: {signed}")


def not_into_a_full_directory(check: Check) -> None:
    """A directory with files is left alone."""
    status, out = check.text([VLWP, "export", check.work / "series/linux"], stderr=True)
    check.want(status == 1 and "not empty" in out and out.count("\n") == 1, "not that one line")


def _linux() -> Path:
    return linux_source.fetch().pristine


def _qemu() -> Path:
    return qemu_tree.fetch()


ROWS: tuple[tuple[str, str, Callable[[Check], object]], ...] = (
    ("written", "export: both series are written", written),
    ("linux-applies", "export: the series for Linux applies with git am", lambda c: applies(c, "linux", _linux())),
    ("qemu-applies", "export: the series for QEMU applies with git am", lambda c: applies(c, "qemu", _qemu())),
    (
        *("linux-checkpatch", "export: checkpatch has nothing against the series for Linux"),
        lambda c: checkpatch(c, "linux", _linux(), EXPECTED),
    ),
    (
        "qemu-checkpatch",
        "export: checkpatch has nothing against the series for QEMU but what its cover letter says",
        lambda c: checkpatch(c, "qemu", _qemu(), [*EXPECTED, *EXPECTED_QEMU]),
    ),
    ("signed-off", "export: whoever exports may sign off", signed_by_another),
    ("full-directory", "export: a directory with files is left alone", not_into_a_full_directory),
)


def _run(line: str, function: Callable[[Check], object], report: Report) -> None:
    if function is not written and not (report.work / "series").is_dir():
        report.check(ROWS[0][1], written)
    report.check(line, function)


def cases() -> list[Case]:
    """As cases of a part of the test; those that need the series write it first."""
    return [Case(f"export/{name}", line, functools.partial(_run, line, function)) for name, line, function in ROWS]
