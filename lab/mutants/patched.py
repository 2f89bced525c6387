# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of upstream that patches of this repository change. Without a copy of upstream only the lines that the patches
add are known."""

import re
from collections.abc import Sequence
from pathlib import Path

from lab.common import c_source
from lab.common.c_source import words

FILE = re.compile(r"^\+\+\+ b/", re.MULTILINE)
HUNK = re.compile(r"^@@ ", re.MULTILINE)


def added(folder: Path) -> dict[str, list[list[str]]]:
    """For each file that the patches of a folder change, the tokens that they add to it, by hunks."""
    found: dict[str, list[list[str]]] = {}
    for patch in sorted(folder.rglob("*.patch")):
        for part in FILE.split(patch.read_text(encoding="utf-8"))[1:]:
            file, _, text = part.partition("\n")
            for hunk in HUNK.split(text)[1:]:
                lines = [line[1:] for line in hunk.splitlines() if line.startswith("+")]
                found.setdefault(file, []).append(words("\n".join(lines)))
    return found


def adds(hunks: Sequence[Sequence[str]], wanted: Sequence[str]) -> bool:
    """Is this run of tokens in one of the hunks?"""
    text = f" {' '.join(wanted)} "
    return any(text in f" {' '.join(hunk)} " for hunk in hunks)


def sources(copy: Path, files: Sequence[str]) -> list[c_source.Source]:
    """Those of the files that a copy of upstream has."""
    return c_source.sources(copy, [Path(file) for file in files if (copy / file).is_file()])
