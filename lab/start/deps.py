# SPDX-License-Identifier: GPL-2.0-or-later
"""Install the Debian packages that this machine lacks, and nothing else. It needs root (or sudo) and the
network only when something is missing."""

import argparse

from lab.common import proc
from lab.common.places import LAB


def add_options(parser: argparse.ArgumentParser) -> None:
    """It has none."""
    del parser


def main(args: argparse.Namespace) -> int:
    """The command."""
    del args
    return proc.call([LAB / "start/deps.sh"])


def ensure() -> None:
    """What a command needs is installed; if it cannot be, the command ends here."""
    status = main(argparse.Namespace())
    if status:
        raise SystemExit(status)
