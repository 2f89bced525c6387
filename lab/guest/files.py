# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the files and programs that a user names, before anything is built."""

import shutil
from pathlib import Path

from lab.common.say import Died


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


def program(name: str) -> None:
    """A program that will be run in a guest is on this machine."""
    if shutil.which(name):
        return
    if Path(name).is_dir():
        raise Died(f"{name}: this is a directory, not a program")
    if Path(name).is_file():
        raise Died(f"{name}: this file is not executable")
    raise Died(f"{name}: there is no such program on this machine")
