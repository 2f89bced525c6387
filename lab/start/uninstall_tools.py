# SPDX-License-Identifier: GPL-2.0-or-later
"""Remove what the last install of the tools from this directory put there (same DESTDIR)."""

import argparse
from pathlib import Path

from lab.common.say import Died, say
from lab.start.install_tools import installed_list


def main(_: argparse.Namespace) -> None:
    listing = installed_list()
    if not listing.is_file():
        raise Died(f"nothing was installed from this directory: {listing} is not there")
    for line in reversed(listing.read_text(encoding="utf-8").splitlines()):  # directories come before what is in them
        if not line.startswith("#"):
            _remove(Path(line))
    listing.unlink()
    say("removed the tools")


def _remove(path: Path) -> None:
    try:
        if not path.is_dir():
            path.unlink(missing_ok=True)
        elif not any(path.iterdir()):
            path.rmdir()
    except OSError as err:
        raise Died(f"{path}: cannot remove this file: {err.strerror}") from err
