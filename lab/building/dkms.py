# SPDX-License-Identifier: GPL-2.0-or-later
"""The DKMS package of the modules: what install and uninstall share."""

import os
import re
import shutil
from pathlib import Path

from lab.building import linux
from lab.common.bases import linux_bases
from lab.common.places import TOP
from lab.common.say import Died

NAME = "vlwp-kvm"
TREES = Path("/var/lib/dkms") / NAME
LEFT_OUT = shutil.ignore_patterns("tests", "fuzz", "bench", "mutants.list", "*.md")


def version() -> str:
    """The package's version, which is that of this repository."""
    return (TOP / "VERSION").read_text(encoding="utf-8").strip()


def source() -> Path:
    """Where DKMS finds the package."""
    return Path(f"/usr/src/{NAME}-{version()}")


def need_root(what: str) -> None:
    """Only root can do that."""
    if os.geteuid():
        raise Died(f"{what} needs root: sudo ./vlwp {what}")


def write_package(place: Path) -> None:
    """The sources as DKMS takes them, for the kernels of all bases. @WORDS@ in its files are filled in."""
    bases = linux_bases()
    words = {
        "@VERSION@": version(),
        "@BASES@": " and ".join(base.series for base in bases),
        "@PATTERN@": "|".join(re.escape(base.series) for base in bases),
    }
    try:
        for folder in ("kvm/svm", "kvm/engine", "vmcb"):
            shutil.copytree(TOP / folder, place / folder, ignore=LEFT_OUT)
        for base in bases:
            linux.write_patches(base.series, place / "kvm/patches" / base.series)
        shutil.copy(linux.LAYOUT, place)
        for name in ("prepare", "dkms.conf"):
            text = (TOP / "kvm/dkms" / name).read_text(encoding="utf-8")
            for word, value in words.items():
                text = text.replace(word, value)
            (place / name).write_text(text, encoding="utf-8")
        (place / "prepare").chmod(0o755)
    except OSError as err:
        raise Died(f"cannot write {place}: {err}") from err
