# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel and the QEMU that everything is built from: lab/bases.toml, and the user's choice among them."""

import itertools
import os
import platform
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from lab.common.say import Died, Usage

CHOICE = "VLWP_BASE"  # as given to --base; a ./vlwp that we start has the same
KINDS = ("linux", "qemu")
WRONG: list[str] = []  # a choice that choose() did not take
FILE = Path(__file__).resolve().parents[1] / "bases.toml"


@dataclass(frozen=True)
class LinuxBase:
    """A kernel: its series as in "6.12", and its packages."""

    series: str
    source: str
    image: dict[str, str] = field(default_factory=dict)
    suite: str = ""

    @property
    def image_pattern(self) -> str:
        """What the package of a stock kernel of this base is called, as a regular expression."""
        return rf"^linux-(image|binary)-{re.escape(self.series)}[.]"

    def serves(self, kernel: str) -> bool:
        """Is a kernel, named as by uname -r, one of this base?"""
        return kernel.startswith(self.series + ".")


@dataclass(frozen=True)
class QemuBase:
    """A QEMU: its series as in "10.0", and the source package's version that is wanted; the digest of its tarball, if
    lists do not name it; packages of the suite that its build needs besides."""

    series: str
    version: str
    suite: str
    sha256: str = ""
    tools: Sequence[str] = ()

    def serves(self, version: str) -> bool:
        """Is a Debian version of the source package one of this base?"""
        return re.match(rf"1:{re.escape(self.series)}\.", version) is not None


@cache
def _read() -> dict[str, Any]:
    with FILE.open("rb") as file:
        return tomllib.load(file)


def names() -> list[str]:
    """All bases, as --base wants them."""
    return [f"{kind}-{series}" for kind in KINDS for series in _read()[kind]]


def check(text: str) -> str:
    """The user's choice, bases with commas between them; one that is not there is an error."""
    known = names()
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            raise Usage(f"--base={text}: no base '{name}'; there are: {' '.join(known)}")
    kinds = [name.partition("-")[0] for name in chosen]
    if len(set(kinds)) < len(kinds):
        raise Usage(f"--base={text}: one kernel and one QEMU at most")
    return text


def choose(words: Sequence[str]) -> None:
    """Take the choice from a command line if it is a right one; the command says what is wrong with another."""
    options = list(itertools.takewhile(lambda word: word != "--", words))
    for word, following in zip(options, [*options, ""][1:], strict=True):
        if word == "--base" or word.startswith("--base="):
            os.environ[CHOICE] = following if word == "--base" else word.removeprefix("--base=")
    try:
        check(os.environ.get(CHOICE) or default_pair())
    except Usage:
        WRONG.append(os.environ.pop(CHOICE))


def linux_bases() -> list[LinuxBase]:
    """All kernels that there are patches for."""
    return [LinuxBase(series, **values) for series, values in _read()["linux"].items()]


def other_kernels() -> list[str]:
    """The series of the kernels that are not chosen."""
    return [base.series for base in linux_bases() if base.series != _series("linux")]


def base_of(kernel: str) -> LinuxBase | None:
    """The base of a kernel that is named as by uname -r."""
    return next((base for base in linux_bases() if base.serves(kernel)), None)


def base_for(kernel: str) -> LinuxBase:
    """The same, which there must be."""
    base = base_of(kernel)
    if not base:
        known = " and ".join(each.series for each in linux_bases())
        raise Died(f"kernel {kernel}: the modules are for Debian's {known} kernels; boot one, or name one")
    return base


def running_kernel() -> tuple[str, str]:
    """The code name of this machine's Debian, and its kernel as by uname -r."""
    try:
        codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError:
        codename = ""
    return codename, os.uname().release


def _default(kind: str) -> str:
    """The series if nobody chooses one. On Debian 13 the kernel is the one that is running, if it is a base's."""
    codename, release = running_kernel() if kind == "linux" else ("", "")
    running = base_of(release) if codename == "trixie" else None
    return running.series if running else str(_read()["default"][kind])


def _series(kind: str) -> str:
    text = os.environ.get(CHOICE, "")
    chosen = dict(name.split("-", 1) for name in (check(text).split(",") if text else ()))
    return str(chosen.get(kind) or _default(kind))


def linux_base() -> LinuxBase:
    """The kernel that is built against."""
    series = _series("linux")
    return LinuxBase(series, **_read()["linux"][series])


def qemu_base() -> QemuBase:
    """The QEMU that is built."""
    series = _series("qemu")
    return QemuBase(series, **_read()["qemu"][series])


def default(kind: str) -> str:
    """The series of the kernel, QEMU or libvirt on which the patches stand; those of others are differences."""
    return str(_read()["default"][kind])


def libvirts() -> dict[str, str]:
    """The series of libvirt that there are patches for, oldest first, and the Debian release that has each."""
    return {series: str(table["suite"]) for series, table in _read()["libvirt"].items()}


def default_pair() -> str:
    """What is built if nobody chooses, as for --base."""
    return ",".join(f"{kind}-{_default(kind)}" for kind in KINDS)


def of_linux(name: str, series: str = "") -> str:
    """What a directory, lock or stamp of a kernel (the chosen one) is called, if that of the default is called so."""
    series = series or _series("linux")
    return name if series == default("linux") else f"{name}-{series}"


def of_qemu(name: str, series: str = "") -> str:
    """What a directory, lock or stamp of a QEMU (the chosen one) is called, if that of the default is called so."""
    series = series or _series("qemu")
    return name if series == default("qemu") else f"{name}-{series}"
