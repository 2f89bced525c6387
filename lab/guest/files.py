# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the files and programs that a user names, before anything is built."""

import os
import select
import shutil
import sys
from pathlib import Path

from lab.common.say import Died, say

MAX_INPUT = 256 << 20  # bytes of standard input that are kept


def writable(path: Path) -> None:
    """A file that will be written can be written."""
    try:
        new = not path.exists()
        with path.open("ab"):
            pass
        if new:
            path.unlink()
    except OSError as err:
        raise Died(f"{path}: cannot write this file: {err.strerror}") from err


def copy(source: Path, to: Path) -> None:
    """Copy a file; what could not be copied whole is removed, unless it is no regular file."""
    try:
        shutil.copyfile(source, to)
    except OSError as err:
        if to.is_file():
            to.unlink(missing_ok=True)
        raise Died(f"{to}: cannot write this file: {err.strerror}") from err


def program(name: str, root: Path = Path("/")) -> None:
    """A program that will be run in a guest is on this machine, or below another root."""
    other = root != Path("/")
    path = os.pathsep.join(f"{root}/{place}" for place in os.get_exec_path()) if other else None
    place = f"{root}/{name}" if other and "/" in name else name
    if shutil.which(place, path=path) or other and os.path.islink(place):  # which may be a link from there
        return
    if Path(place).is_dir():
        raise Died(f"{place}: this is a directory, not a program")
    if Path(place).is_file():
        raise Died(f"{place}: this file is not executable")
    raise Died(f"{place}: there is no such program {f'in {root}' if other else 'on this machine'}")


def keep_input(to: Path) -> Path | None:
    """The file with the standard input that every run gets; None: they read a terminal, or none."""
    if sys.stdin is None or os.isatty(0):
        return None
    if not select.select([0], [], [], 1)[0]:
        say("waiting for the end of standard input, which every run gets; </dev/null gives none")
    with to.open("wb") as file:
        while block := os.read(0, 1 << 20):
            if file.tell() + len(block) > MAX_INPUT:
                raise Died(f"standard input: more than {MAX_INPUT >> 20} MiB are too much to give them to several runs")
            file.write(block)
    return to
