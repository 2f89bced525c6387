# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are: the repository, the build directory, what is built in it."""

import os
import pwd
import tempfile
from pathlib import Path

from lab.common import bases

TOP = Path(__file__).resolve().parents[2]
LAB = TOP / "lab"
RELEASE = (TOP / "RELEASE").is_file()  # this is what `package --release` has made; nothing is built in it
BUILD = TOP / "build" if RELEASE else Path(os.path.abspath(os.environ.get("VLWP_BUILD_DIR") or TOP / "build"))
os.environ["VLWP_BUILD_DIR"] = str(BUILD)  # a ./vlwp that we start may be in another directory
HOST = BUILD / "host"  # what Meson builds for this machine and for guests
FIRMWARE = BUILD / "firmware"
OWN_KERNEL = os.environ.get("VLWP_KERNEL", "")  # the user's, for guests
GUEST_I386 = BUILD / "guest-i386"
KVM = BUILD / bases.of_linux("kvm")
SRC = BUILD / "src"  # unpacked sources
DL = BUILD / "dl"  # packages from the archive
CACHE = Path("/", os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vlwp")
KEPT = CACHE if RELEASE else BUILD  # what runs leave for the next
LOG = KEPT / "log"

PYTHON = "/usr/bin/python3"
LWPCTL = HOST / "host-tools/lwpctl"
LWPRUN = HOST / "guest-tools/lwprun"
LINUX_PROGRAMS = HOST / "guest-tests/linux"
KVM_PROGRAMS = HOST / "kvm/tests"


def guest_of(series: str = "") -> Path:
    """What guests with the kernel of a base (the chosen one, or the user's own) boot from."""
    return BUILD / ("guest-own" if OWN_KERNEL and not series else bases.of_linux("guest", series))


GUEST = guest_of()


def user_name() -> str:
    """Who we are, as id -un says; the number if it has no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def qemu() -> Path:
    """The emulator: the one that was built here, or the user's (VLWP_QEMU)."""
    return Path(os.environ.get("VLWP_QEMU") or BUILD / bases.of_qemu("qemu") / "qemu-system-x86_64")


def qemu_user() -> Path:
    """The emulator of programs: the one that was built here, or the user's (VLWP_QEMU_USER)."""
    return Path(os.environ.get("VLWP_QEMU_USER") or BUILD / bases.of_qemu("qemu-user") / "qemu-x86_64")


def qemu_base() -> Path:
    """The unpatched emulator of the same version."""
    return BUILD / bases.of_qemu("qemu-base") / "qemu-system-x86_64"


def temporary() -> Path:
    """The directory for private directories of one run."""
    return Path(tempfile.gettempdir())
