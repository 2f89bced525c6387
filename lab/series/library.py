# SPDX-License-Identifier: GPL-2.0-or-later
"""lwpcore, which QEMU shares with KVM: a git repository of one commit, and the wrap by which Meson gets it."""

import shutil
from pathlib import Path
from typing import IO

from lab.building.qemu_tree import LIBRARY, PATCHES
from lab.common.places import TOP
from lab.series import sources
from lab.series.tree import Author, Tree

NAME = Path(LIBRARY).name
WRAP = f"{LIBRARY}.wrap"
TEXT = "[wrap-git]\nurl = {url}\nrevision = {commit}\ndepth = 1\n"
WHEN = "@0 +0000"  # the same files of the same author are the same commit
COPYING = {"COPYING": "GPL-2.0-or-later", "COPYING.Linux-syscall-note": "Linux-syscall-note"}


def files() -> dict[str, Path]:
    """What is in it, by its name there: what QEMU compiles, and the headers that this or QEMU's part includes."""
    compiled = [file for folder in sources.SHARED for file in sources.in_qemu(folder)]
    found = sources.with_headers([*compiled, *(PATCHES / "lwp").iterdir()])
    found = [file for file in found if file.parent in sources.SHARED] + sorted((PATCHES / NAME).iterdir())
    return {file.name: file for file in found} | {name: TOP / f"LICENSES/{of}.txt" for name, of in COPYING.items()}


def write(place: Path, who: Author, log: IO[str]) -> str:
    """Make the repository. Result: its commit."""
    place.mkdir(parents=True)
    for name, file in files().items():
        shutil.copy(file, place / name)
    return Tree(place, who, log, "lwpcore: The state machine of LWP", WHEN).git("rev-parse", "HEAD").strip()
