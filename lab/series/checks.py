# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp export promises: the series apply, each patch says what it is, and checkpatch has no complaint but those
that the cover letter names."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.building import linux as linux_source
from lab.building import qemu_tree
from lab.common import proc
from lab.common.check import good, run
from lab.common.places import TOP
from lab.series import library, libvirt, linux, maintainers, managers, qemu, selftest, tarballs
from lab.series.export import copy_touched
from lab.series.tree import Tree, author

VLWP = TOP / "vlwp"
TESTER = "A. Tester <tester@example.org>"
# New files without an entry in MAINTAINERS are what maintainers decide.
EXPECTED = ["does MAINTAINERS need updating"]
# The selftest's programs are labels in assembly. The places of a row are one list, of which macros make an enum, names,
# sentences; words in messages are no functions' names.
EXPECTED_LINUX = [
    r"/svm_lwp_test\.c: .*: WARNING: externs should be avoided",
    r"/pmc_row\.[ch]: .*: (Macros with complex values|space prohibited before that close|Argument '\w+' is not used)",
    r"/pmc_row\.c: .*: Prefer using '\"%s\.\.\.\", __func__' to using '(numbers|place|item)'",
]
# What KVM has, too, keeps the kernel's style; upstream's header and its opcode table have their own. A line of more
# than 80 columns is only a warning.
EXPECTED_QEMU = [
    *(r"^target/i386/pmu/pmc_row\.[ch]: ", r"^target/i386/tcg/decode-new\.c\.inc: "),
    r"^target/i386/svm\.h: .*code indent should never use tabs",
    "WARNING: line over 80 char",
    r"WARNING: added, moved or deleted file\(s\):$",  # as newer QEMUs say it
]


def patches_in(series: Path) -> list[Path]:
    """The patches of a series, in order, without its cover letter."""
    return sorted(file for file in series.glob("*.patch") if not file.name.startswith("0000-"))


def written(work: Path) -> None:
    """All series, exported into the part's private folder, from somebody else than their author."""
    good([VLWP, "export", f"--as={TESTER}", work / "series"])


def applies(work: Path, names: Sequence[str], pristine: Path) -> None:
    """git am of series, each on what is before it, on the files of a source that they touch."""
    place = work / f"tree-{names[-1]}-{pristine.name}"
    series = [patches_in(work / "series" / name) for name in names]
    assert all(series), "there is no series"
    copy_touched(pristine, [patch for patches in series for patch in patches], place)
    tree = Tree(place, author(), sys.stdout)
    for patches in series:
        tree.git("am", *patches)


def sets_apply_alone(work: Path) -> None:
    """Each set of fixes for QEMU, on the pristine source."""
    for name in qemu.names()[: len(qemu_tree.FIXES)]:
        applies(work, [name], qemu_tree.fetch())


def as_built(work: Path) -> None:
    """What the series for QEMU make is what is built here."""
    pristine = qemu_tree.fetch()
    place = work / f"tree-{qemu.names()[-1]}-{pristine.name}"
    if not place.is_dir():
        applies(work, qemu.names(), pristine)
    built = work / "stage"
    qemu_tree.staged("vlwp", pristine, built, sys.stdout)
    files = [file.relative_to(place) for file in place.rglob("*") if file.is_file() and ".git" not in file.parts]
    files.remove(Path(library.WRAP))
    assert any(file.match("target/i386/lwp/*") for file in files), "nothing of LWP is there"
    differ = []
    for name in files:
        text = (built / name).read_text(encoding="utf-8").replace(qemu.NOBODY, TESTER)  # in MAINTAINERS
        if text != (place / name).read_text(encoding="utf-8"):
            differ.append(str(name))
    assert not differ, f"not as built: {' '.join(differ)}"


def library_as_built(work: Path) -> None:
    """The series names the library's one commit, which has what is built here, is the same each time, and compiles."""
    place, built, out = work / "series" / library.NAME, work / "stage" / qemu_tree.LIBRARY, work / "lwpcore-out"
    commit = library.write(work / "lwpcore-again", author(TESTER), sys.stdout)
    [patch] = [patch for patch in patches_in(work / "series/qemu-3-lwp") if "add-lwpcore" in patch.name]
    wrap = library.TEXT.format(url=place.resolve(), commit=commit)
    assert all(f"\n+{line}\n" in patch.read_text(encoding="utf-8") for line in wrap.splitlines()), "another commit"
    good(["git", "-C", place, "diff", "--exit-code", commit])
    qemu_tree.staged("vlwp", qemu_tree.fetch(), work / "stage", sys.stdout)
    names = [name for name in library.files() if name not in library.COPYING]
    differ = [name for name in names if (place / name).read_bytes() != (built / name).read_bytes()]
    assert not differ, f"not as built: {' '.join(differ)}"
    good(["meson", "setup", "--werror", out, place])
    good(["ninja", "-C", out])


def alone(work: Path) -> None:
    """Fixes and counters have no name of LWP's, nor do their messages."""
    names = qemu.names()[: len(qemu_tree.FIXES) + 1]
    for patch in [patch for name in names for patch in patches_in(work / "series" / name)]:
        text = patch.read_text(encoding="utf-8")
        found = [line for line in text.splitlines() if re.search("(?i)(?<!v)lwp", line)]  # not the author's name
        assert not found, "\n".join([f"{patch.name} has LWP:", *found])


def _of_source(complaint: str) -> str:
    """A complaint of checkpatch, PATCH:LINE: TEXT, and before it the source of which that line is."""
    patch, line, _ = complaint.split(":", 2)
    text = Path(patch).read_text(encoding="utf-8").splitlines()[: int(line)]
    return f"{next((one[6:] for one in reversed(text) if one.startswith('+++ b/')), '')}: {complaint}"


def checkpatch(work: Path, names: Sequence[str], pristine: Path, expected: Sequence[str]) -> None:
    """The source's own script has no complaint but those that are expected."""
    patches = proc.words([patch for name in names for patch in patches_in(work / "series" / name)])
    out = run(["perl", "scripts/checkpatch.pl", "--no-tree", "--terse", "-q", *patches], cwd=pristine).out
    assert patches, "there is no series"
    complaints = [_of_source(line) for line in out.splitlines() if re.search(r": (ERROR|WARNING|CHECK): ", line)]
    left = [line for line in complaints if not re.search("|".join(expected), line)]
    assert not left, "\n".join(left)


def signed_by_another(work: Path) -> None:
    """Whoever exports may sign off."""
    names = (*linux.names(), *qemu.names(), *libvirt.names(), *managers.VERSIONS)
    patches = [patch for name in names for patch in patches_in(work / "series" / name)]
    assert patches, "there is no series"
    for patch in patches:
        signed = re.findall("^Signed-off-by: (.*)$", patch.read_text(encoding="utf-8"), re.MULTILINE)
        assert TESTER in signed and not any("vlwp" in name for name in signed), f"{patch.name}: {signed}"


def not_into_a_full_directory(work: Path) -> None:
    """A directory with files is left alone."""
    ended = run([VLWP, "export", work / "series" / linux.names()[0]])
    assert ended.status == 1 and "not empty" in ended.said and ended.said.count("\n") == 1, "not that one line"


def checkpatch_linux(work: Path) -> None:
    """Of the chosen kernel."""
    checkpatch(work, linux.names(), linux_source.fetch_series().pristine, [*EXPECTED, *EXPECTED_LINUX])


def checkpatch_qemu(work: Path) -> None:
    """Of the chosen QEMU."""
    checkpatch(work, qemu.names(), qemu_tree.fetch(), [*EXPECTED, *EXPECTED_QEMU])


ROWS: tuple[tuple[str, str, Callable[[Path], object]], ...] = (
    ("written", "export: all series are written", written),
    (
        *("linux-applies", "export: the series for Linux applies with git am"),
        lambda c: applies(c, linux.names(), linux_source.fetch_series().pristine),
    ),
    (
        "qemu-applies",
        "export: the series for QEMU apply with git am, each on what is before it",
        lambda c: applies(c, qemu.names(), qemu_tree.fetch()),
    ),
    ("qemu-fixes-alone", "export: each set of fixes for QEMU applies alone", sets_apply_alone),
    ("qemu-as-built", "export: what the series for QEMU make is what is built", as_built),
    ("qemu-library", "export: QEMU's library is what is built, and compiles alone", library_as_built),
    ("qemu-alone", "export: fixes and counters are without LWP", alone),
    ("linux-selftest", "export: the KVM selftest compiles within the kernel's source", selftest.compiles),
    ("linux-selftest-run", "export: the KVM selftest passes, with a nested guest too", selftest.passes),
    (
        *("maintainers", "export: who maintains what each patch of Linux and QEMU changes"),
        lambda c: maintainers.complete(c, [*linux.names(), *qemu.names()]),
    ),
    ("signed-off", "export: whoever exports may sign off", signed_by_another),
    ("linux-tarball", "the patches apply to an upstream tarball of Linux, or one is named", tarballs.linux_tarball),
    ("qemu-tarball", "the patches apply to an upstream tarball of QEMU, or one is named", tarballs.qemu_tarball),
    ("full-directory", "export: a directory with files is left alone", not_into_a_full_directory),
)


WITHOUT_SERIES = (written, tarballs.linux_tarball, tarballs.qemu_tarball)
