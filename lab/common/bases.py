# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel and the QEMU that everything is built from: lab/bases.toml."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from lab.common.places import LAB


@dataclass(frozen=True)
class LinuxBase:
    """A kernel: its series as in "6.12", and its packages."""

    series: str
    source: str
    image: dict[str, str]

    @property
    def image_pattern(self) -> str:
        """What the package of a stock kernel of this base is called, as a regular expression."""
        return rf"^linux-image-{re.escape(self.series)}[.]"

    def serves(self, kernel: str) -> bool:
        """Is a kernel, named as by uname -r, one of this base?"""
        return kernel.startswith(self.series + ".")


@dataclass(frozen=True)
class QemuBase:
    """A QEMU: its series as in "10.0", and the source package's version that is wanted."""

    series: str
    version: str
    suite: str

    def serves(self, version: str) -> bool:
        """Is a Debian version of the source package one of this base?"""
        return re.match(rf"1:{re.escape(self.series)}\.", version) is not None


@cache
def _read() -> dict[str, Any]:
    with (LAB / "bases.toml").open("rb") as file:
        return tomllib.load(file)


def linux_base() -> LinuxBase:
    """The kernel that is built against."""
    series = _read()["default"]["linux"]
    return LinuxBase(series, **_read()["linux"][series])


def qemu_base() -> QemuBase:
    """The QEMU that is built."""
    series = _read()["default"]["qemu"]
    return QemuBase(series, **_read()["qemu"][series])
