# SPDX-License-Identifier: GPL-2.0-or-later
"""The patched QEMU as a program for arm64: a Debian root has the cross compiler, arm64's libraries, and qemu-aarch64,
which runs such a program on this machine."""

import shlex
import shutil
from pathlib import Path

from lab.building import qemu, qemu_tree
from lab.common import bases
from lab.common.steps import build_lock, fresh, hash_of, jobs_count, stamp, step
from lab.testing import fresh_root

FLAVOUR = "arm64"
NAME = bases.of_qemu(FLAVOUR)
# The archive's Meson is new enough for QEMU, and its qemu-user is static.
SUITE = "trixie"
PACKAGES = (
    "gcc", "gcc-aarch64-linux-gnu", "libc6-dev", "meson", "ninja-build", "pkgconf", "python3-pycotap", "python3-venv",
    "qemu-user",
)
LIBRARIES = ("libattr1-dev", "libfdt-dev", "libglib2.0-dev", "libslirp-dev", "zlib1g-dev")
TREE, OUT = (f"srv/{bases.of_qemu(name)}" for name in ("qemu", "build"))  # in the root
WITHOUT = "--enable-kvm"  # an arm64 host has none for x86
E_MACHINE, EM_AARCH64 = slice(18, 20), b"\xb7\x00"  # where an ELF file has its processor's number


def _script() -> str:
    options = shlex.join(word for word in qemu.CONFIGURE if word != WITHOUT)
    triplet = "aarch64-linux-gnu"
    return "; ".join([
        "export DEBIAN_FRONTEND=noninteractive",
        f"export PKG_CONFIG=pkg-config PKG_CONFIG_LIBDIR=/usr/lib/{triplet}/pkgconfig:/usr/share/pkgconfig",
        "dpkg --add-architecture arm64",
        "apt-get -q update",
        f"apt-get -qy install --no-install-recommends {' '.join(f'{name}:arm64' for name in LIBRARIES)}",
        f"mkdir -p /{OUT}; cd /{OUT}",
        f"/{TREE}/configure --cross-prefix={triplet}- --disable-debug-info {options}",
        f"ninja -j {jobs_count()} {qemu.program('vlwp').name}",
    ])


def _program(root: Path) -> Path:
    return root / OUT / qemu.program("vlwp").name


def build() -> Path:
    """Build it, if it is out of date. Result: the root."""
    fresh_root.require("QEMU for arm64")
    root = fresh_root.kept_root(FLAVOUR, SUITE, PACKAGES)
    pristine, modules = qemu_tree.fetch(), ("testing/arm64", "building/qemu", "building/qemu_tree", "building/patches")
    files = (*(f"lab/{name}.py" for name in modules), "lab/bases.toml", "vmcb", "kvm/engine", "qemu-patches")
    key = f"{hash_of(*files)} {pristine}"
    with build_lock(root.name):
        if not (fresh(NAME, key) and _program(root).is_file()):
            qemu_tree.sync(FLAVOUR, pristine, root / TREE)
            shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
            step("building QEMU for arm64", NAME, fresh_root.enter(root, _script()), about=400)
            stamp(NAME, key)
    assert _program(root).read_bytes()[E_MACHINE] == EM_AARCH64
    return root


def emulator(folder: Path) -> Path:
    """A program in the place of QEMU, in a folder: the one for arm64, run by qemu-aarch64 with the root's libraries."""
    root, program = build(), folder / "qemu-arm64"
    words = [root / "usr/bin/qemu-aarch64", "-L", root, _program(root)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program
