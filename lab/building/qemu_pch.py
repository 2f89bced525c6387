# SPDX-License-Identifier: GPL-2.0-or-later
"""A precompiled qemu/osdep.h, which every source of QEMU includes first: a third of the compile time.

gcc takes include/qemu/osdep.h.gch/ instead of osdep.h when the macros and the flags are those of one of its files, and
the object is the same byte for byte. The sources do not change.
"""

import json
import re
import shlex
from pathlib import Path

from lab.common import proc

# For configure's --extra-cflags: gcc does not warn of the precompiled headers that do not fit, and an object depends on
# what is inside of the one that does.
FLAGS = "-Wno-invalid-pch -fpch-deps"
ENOUGH = 5  # objects that have the same macros and flags, and so are worth a precompiled header


def _kinds(out: Path) -> list[list[str]]:
    """The command lines, up to what names one object, that differ in macros and code generation."""
    kinds: dict[str, list[list[str]]] = {}
    for entry in json.loads((out / "compile_commands.json").read_text(encoding="utf-8")):
        command = entry["command"]
        # Not compiled here, or without osdep.h: user mode, the tests of softfloat, plugins.
        if "-DCONFIG_USER_ONLY" in command or "-std=gnu11" not in command or "-fPIC" in command:
            continue
        words = shlex.split(command.partition(" -MD ")[0])
        key = " ".join(word for word in words if not re.match("-I|-W", word))
        kinds.setdefault(key, []).append(words)
    return [same[0] for same in kinds.values() if len(same) >= ENOUGH]


def _current(header: Path, depfile: Path, out: Path) -> bool:
    """Is the precompiled header as new as what it was made from?"""
    if not header.is_file() or not depfile.is_file():
        return False
    names = depfile.read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]
    files = [out / name for name in names]
    return all(file.is_file() and file.stat().st_mtime <= header.stat().st_mtime for file in files)


def refresh(out: Path, tree: Path) -> None:
    """Make what is missing or out of date, for a configured build directory. It needs config-poison.h."""
    osdep = tree / "include/qemu/osdep.h"
    place = osdep.with_name("osdep.h.gch")
    place.mkdir(exist_ok=True)
    for number, words in enumerate(_kinds(out)):
        header, depfile = place / str(number), out / f"osdep.{number}.d"
        if not _current(header, depfile, out):
            header.unlink(missing_ok=True)
            rest: list[proc.Word] = ["-x", "c-header", "-MD", "-MF", depfile, "-o", header, "-c", osdep]
            proc.output([*words, *rest], cwd=out)
