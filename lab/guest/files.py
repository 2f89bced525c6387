# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the files and programs that a user names, before anything is built."""

import shutil
from pathlib import Path

from lab.common.say import Died


def writable(path: Path) -> None:
    """A file that will be written can be written."""
    try:
        with path.open("ab"):
            pass
    except OSError as err:
        raise Died(f"{path}: cannot write this file: {err.strerror}") from err


def program(name: str) -> None:
    """A program that will be run in a guest is on this machine."""
    if not shutil.which(name):
        raise Died(f"{name}: there is no such program on this machine")
