# SPDX-License-Identifier: GPL-2.0-or-later
"""What soaks share that run programs in guests, by name."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lab.building import kernel, qemu, tools
from lab.common.report import Report
from lab.guest.vm import run_directory
from lab.start import deps


def add_names(parser: argparse.ArgumentParser, what: str, names: Sequence[str], metavar: str = "NAME") -> None:
    """Some of the names as arguments; none: all."""
    parser.add_argument(what, nargs="*", choices=[*names, []], metavar=metavar, help=f"of {' '.join(names)} (all)")


@contextmanager
def prepared() -> Iterator[Report]:
    """A report whose folder goes at its end; what guests need is built."""
    deps.ensure()
    tools.build()
    kernel.build()
    qemu.ensure()
    with run_directory() as run:
        yield Report(run)
