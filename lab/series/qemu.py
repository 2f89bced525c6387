# SPDX-License-Identifier: GPL-2.0-or-later
"""The series for QEMU: sets of fixes of QEMU itself, AMD's performance counters, LWP. In the last two the new files
come first, one commit a topic, then the hooks."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lab.building.qemu_tree import COUNT, LWP, PATCHES, SERIES, changed_files, new_files, series
from lab.common.say import Died
from lab.series import library
from lab.series.tree import Tree

COUNTERS = (COUNT, "target/i386/pmu")
# Hooks that name one new file, which comes with them.
WITH = {
    "docs/system/target-i386.rst": "docs/system/i386/lwp.rst",
    "tests/qtest/meson.build": "tests/qtest/lwp-test.c",
    "tests/tcg/x86_64/Makefile.softmmu-target": "tests/tcg/x86_64/system/lwp.c",
}
ENTRY = re.compile(r"^((\S.*)\n(?:  .*\n)+)", re.MULTILINE)  # of a cover letter: a patch and what shows it
NOBODY = "vlwp <vlwp@localhost>"  # stands for whoever exports


def names() -> list[str]:
    """The series, in order, as their folders below DIR are called."""
    return [f"qemu-{Path(folder).name}" for folder in SERIES]


def _pmu(tree: Tree) -> None:
    for folder in COUNTERS:
        files = [file for name, file in sorted(new_files().items()) if name.startswith(f"{folder}/")]
        tree.add_files(folder, files)
    tree.commit("qemu-3-counters")
    for patch in series("2-pmu"):
        tree.hook(patch)


def _lwp(tree: Tree, wrap: str) -> None:
    tree.add_files(LWP, sorted((PATCHES / "lwp").iterdir()))
    tree.commit("qemu-4-glue")
    for patch in series("3-lwp"):
        tree.hook(patch)
        changed = changed_files(patch)
        for name in changed:
            if name in WITH:
                tree.add_files(str(Path(WITH[name]).parent), [PATCHES / WITH[name]])
                tree.amend()
        if "subprojects/.gitignore" in changed:
            (tree.path / library.WRAP).write_text(wrap, encoding="utf-8")
            tree.amend()
        if "MAINTAINERS" in changed:
            file = tree.path / "MAINTAINERS"
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(NOBODY, f"{tree.who.name} <{tree.who.email}>"), encoding="utf-8")
            tree.amend()


def shown(cover: str, subjects: Sequence[str]) -> str:
    """A cover letter that says what shows each patch, without those that this QEMU does not need."""
    entries = ENTRY.findall(cover)
    missing = set(subjects) - {subject for _, subject in entries}
    if missing:
        raise Died(f"the cover letter does not say what shows '{min(missing)}'")
    for text, subject in entries:
        cover = cover if subject in subjects else cover.replace(text, "")
    return cover


def make(tree: Tree, place: Path, url: str = "") -> None:
    """The commits on a QEMU tree, or on the files of one that the hooks touch, and the series below a folder, with the
    library that they get from a URL; "": from this folder."""
    commit = library.write(place / library.NAME, tree.who, tree.log)
    wrap = library.TEXT.format(url=url or (place / library.NAME).resolve(), commit=commit)
    makers: dict[str, Callable[[Tree], None]] = {"2-pmu": _pmu, "3-lwp": partial(_lwp, wrap=wrap)}
    for folder, name in zip(SERIES, names(), strict=True):
        tree.git("tag", "-f", "before")
        if folder in makers:
            makers[folder](tree)
        else:
            for patch in series(folder):
                tree.hook(patch)
        cover = (PATCHES / "patches" / folder / "cover-letter").read_text(encoding="utf-8")
        subjects = tree.git("log", "--format=%s", "before..").splitlines()
        tree.write(cover if folder in makers else shown(cover, subjects), place / name, "before")
