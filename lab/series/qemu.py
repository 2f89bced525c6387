# SPDX-License-Identifier: GPL-2.0-or-later
"""The series for QEMU: sets of fixes of QEMU itself, AMD's performance counters, LWP. In the last two the new files
come in steps (steps.py)."""

import re
from collections.abc import Sequence
from pathlib import Path

from lab.building.qemu_tree import PATCHES, SERIES, changed_files, new_files, series
from lab.common.say import Died
from lab.series import library, steps
from lab.series.tree import Tree

ENTRY = re.compile(r"^((\S.*)\n(?:  .*\n)+)", re.MULTILINE)  # of a cover letter: a patch and what shows it
NOBODY = "vlwp <vlwp@localhost>"  # stands for whoever exports


def names() -> list[str]:
    """The series, in order, as their folders below DIR are called."""
    return [f"qemu-{Path(folder).name}" for folder in SERIES]


def _in_steps(tree: Tree, name: str, wrap: str) -> None:
    """A series whose new files come in steps (steps.py)."""
    plan = steps.Plan(name, new_files(), series(name))
    for number, step in enumerate(plan.steps):
        hook = plan.hooks.get(step.patch)
        changed = []
        if hook:
            tree.hook(hook)
            changed = changed_files(hook)
        plan.write(number, tree.path)
        if "subprojects/.gitignore" in changed:
            (tree.path / library.WRAP).write_text(wrap, encoding="utf-8")
        if "MAINTAINERS" in changed:
            file = tree.path / "MAINTAINERS"
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(NOBODY, f"{tree.who.name} <{tree.who.email}>"), encoding="utf-8")
        if hook:
            tree.amend()
        else:
            tree.commit(step.message)


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
    for folder, name in zip(SERIES, names(), strict=True):
        tree.git("tag", "-f", "before")
        stepped = folder in steps.SERIES
        if stepped:
            _in_steps(tree, folder, wrap)
        else:
            for patch in series(folder):
                tree.hook(patch)
        cover = (PATCHES / "patches" / folder / "cover-letter").read_text(encoding="utf-8")
        subjects = tree.git("log", "--format=%s", "before..").splitlines()
        tree.write(cover if stepped else shown(cover, subjects), place / name, "before")
