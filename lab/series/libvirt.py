# SPDX-License-Identifier: GPL-2.0-or-later
"""The series for libvirt, one for each libvirt that there are patches for. They have no new files, so they are written
from the patches as they are, without libvirt's source; `soak libvirt` applies them to it."""

import re
from pathlib import Path

from lab.building.libvirt import COVER, Libvirt, known
from lab.common import proc
from lab.series.tree import Author


def names() -> list[str]:
    """The series, as their folders below DIR are called."""
    return [one.name for one in known()]


def _cover(one: Libvirt, who: Author, count: int) -> str:
    subject, _, body = COVER.read_text(encoding="utf-8").partition("\n\n")
    patches = [re.search(r"^Subject: \[PATCH\] (.*(?:\n .*)*)", text, re.MULTILINE) for text in _texts(one)]
    log = "\n".join("  " + re.sub(r"\s+", " ", match[1]) for match in patches if match)
    head = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: {who.name} <{who.email}>\n"
    return f"{head}Subject: [PATCH 0/{count}] {subject}\n\n{body.rstrip()}\n\n{who.name} ({count}):\n{log}\n"


def _texts(one: Libvirt) -> list[str]:
    return [patch.read_text(encoding="utf-8") for patch in one.patches()]


def _signed(text: str, who: Author, number: str) -> str:
    """A patch from an author, who signs it off, with its number and what it changes."""
    text = text.replace("\nSubject: [PATCH] ", f"\nSubject: [PATCH {number}] ", 1)
    text = re.sub(r"^From: .*$", lambda _: f"From: {who.name} <{who.email}>", text, count=1, flags=re.MULTILINE)
    message, line, rest = text.partition("\n---\n")
    changes = proc.output(["git", "apply", "--stat", "--summary", "-"], input=text, stdin=None, cwd="/")
    return f"{message}\n\nSigned-off-by: {who.name} <{who.email}>{line}{changes}\n{rest}"


def write_patches(folder: Path, patches: list[Path], who: Author) -> None:
    """Patches into a new folder."""
    folder.mkdir(parents=True)
    for n, patch in enumerate(patches, 1):
        text = _signed(patch.read_text(encoding="utf-8"), who, f"{n}/{len(patches)}")
        (folder / patch.name).write_text(text, encoding="utf-8")


def write(place: Path, who: Author) -> None:
    """All series below a folder."""
    for one in known():
        write_patches(place / one.name, one.patches(), who)
        cover = _cover(one, who, len(one.patches()))
        (place / one.name / "0000-cover-letter.patch").write_text(cover, encoding="utf-8")
