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
from lab.series import libvirt, maintainers, managers, qemu, selftest, sources, tarballs
from lab.series.export import copy_touched
from lab.series.tree import Tree, author

VLWP = TOP / "vlwp"
TESTER = "A. Tester <tester@example.org>"
# New files without an entry in MAINTAINERS are what maintainers decide.
EXPECTED = ["does MAINTAINERS need updating"]
# The selftest's programs are labels in assembly. The places of a row are one list, of which macros make an enum, names,
# sentences; words in messages are no functions' names. A deferred key is exported as KVM's others are.
EXPECTED_LINUX = [
    r"-selftests-Test-Lightweight-Profiling\.patch:\d+: WARNING: externs should be avoided",
    r"-state-machine-.*: (Macros with complex values|space prohibited before that close|Argument '\w+' is not used)",
    r"-event-injection-.*: WARNING: EXPORT_SYMBOL\(foo\); should immediately follow",
    r"-state-machine-.*: Prefer using '\"%s\.\.\.\", __func__' to using '(numbers|place|item)'",
]
# The shared files keep the kernel's style, the opcode table its own.
EXPECTED_QEMU = [
    *("code indent should never use tabs", "braces .. are necessary", "line over [89]0 char"),
    *("Macros with complex values", "architecture specific defines", r"-decode-the-LWP-instructions\.patch:"),
    r"-what-AMD-s-and-Intel-s-.*: space prohibited before that close",  # as in EXPECTED_LINUX
    r"WARNING: added, moved or deleted file\(s\):$",  # as newer QEMUs say it
    # The numbers that user space and KVM share.
    "unacceptable licenses 'GPL-2.0-or-later-WITH-Linux-syscall-note'",
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
    assert any(file.match("target/i386/lwp/*") for file in files), "nothing of LWP is there"
    differ = []
    for name in files:
        text = (built / name).read_text(encoding="utf-8").replace(qemu.NOBODY, TESTER)  # in MAINTAINERS
        if text != (place / name).read_text(encoding="utf-8"):
            differ.append(str(name))
    assert not differ, f"not as built: {' '.join(differ)}"
    folder = place / "target/i386/lwp"
    texts = [file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())]
    wanted = {name for text in texts for name in sources.INCLUDE.findall(text)}
    missing = sorted(name for name in wanted if not (folder / name).is_file())
    assert not missing, f"included and not there: {' '.join(missing)}"


def alone(work: Path) -> None:
    """Fixes and counters have no name of LWP's, nor do their messages."""
    for patch in [patch for name in qemu.names()[:-1] for patch in patches_in(work / "series" / name)]:
        text = patch.read_text(encoding="utf-8")
        found = [line for line in text.splitlines() if re.search("(?i)(?<!v)lwp", line)]  # not the author's name
        assert not found, "\n".join([f"{patch.name} has LWP:", *found])


def checkpatch(work: Path, names: Sequence[str], pristine: Path, expected: Sequence[str]) -> None:
    """The source's own script has no complaint but those that are expected."""
    patches = proc.words([patch for name in names for patch in patches_in(work / "series" / name)])
    out = run(["perl", "scripts/checkpatch.pl", "--no-tree", "--terse", "-q", *patches], cwd=pristine).out
    assert patches, "there is no series"
    complaints = [line for line in out.splitlines() if re.search(r": (ERROR|WARNING|CHECK): ", line)]
    left = [line for line in complaints if not re.search("|".join(expected), line)]
    assert not left, "\n".join(left)


def signed_by_another(work: Path) -> None:
    """Whoever exports may sign off."""
    names = ("linux", *qemu.names(), *libvirt.names(), *managers.VERSIONS)
    patches = [patch for name in names for patch in patches_in(work / "series" / name)]
    assert patches, "there is no series"
    for patch in patches:
        signed = re.findall("^Signed-off-by: (.*)$", patch.read_text(encoding="utf-8"), re.MULTILINE)
        assert TESTER in signed and not any("vlwp" in name for name in signed), f"{patch.name}: {signed}"


def not_into_a_full_directory(work: Path) -> None:
    """A directory with files is left alone."""
    ended = run([VLWP, "export", work / "series/linux"])
    assert ended.status == 1 and "not empty" in ended.said and ended.said.count("\n") == 1, "not that one line"


def checkpatch_linux(work: Path) -> None:
    """Of the chosen kernel."""
    checkpatch(work, ["linux"], linux_source.fetch_series().pristine, [*EXPECTED, *EXPECTED_LINUX])


def checkpatch_qemu(work: Path) -> None:
    """Of the chosen QEMU."""
    checkpatch(work, qemu.names(), qemu_tree.fetch(), [*EXPECTED, *EXPECTED_QEMU])


ROWS: tuple[tuple[str, str, Callable[[Path], object]], ...] = (
    ("written", "export: all series are written", written),
    (
        *("linux-applies", "export: the series for Linux applies with git am"),
        lambda c: applies(c, ["linux"], linux_source.fetch_series().pristine),
    ),
    (
        "qemu-applies",
        "export: the series for QEMU apply with git am, each on what is before it",
        lambda c: applies(c, qemu.names(), qemu_tree.fetch()),
    ),
    ("qemu-fixes-alone", "export: each set of fixes for QEMU applies alone", sets_apply_alone),
    ("qemu-as-built", "export: what the series for QEMU make is what is built", as_built),
    ("qemu-alone", "export: fixes and counters are without LWP", alone),
    ("linux-selftest", "export: the KVM selftest compiles within the kernel's source", selftest.compiles),
    ("linux-selftest-run", "export: the KVM selftest passes, with a nested guest too", selftest.passes),
    (
        *("maintainers", "export: who maintains what each patch of Linux and QEMU changes"),
        lambda c: maintainers.complete(c, ["linux", *qemu.names()]),
    ),
    ("signed-off", "export: whoever exports may sign off", signed_by_another),
    ("linux-tarball", "the patches apply to an upstream tarball of Linux, or one is named", tarballs.linux_tarball),
    ("qemu-tarball", "the patches apply to an upstream tarball of QEMU, or one is named", tarballs.qemu_tarball),
    ("full-directory", "export: a directory with files is left alone", not_into_a_full_directory),
)


WITHOUT_SERIES = (written, tarballs.linux_tarball, tarballs.qemu_tarball)
