# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest: Debian's stock kernel, unpacked into build/guest/sysroot, its ELF image for the PVH boot, and
an initramfs of our init and the modules that it needs to reach the host's files."""

import lzma
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from lab.building import bzimage, tools
from lab.common import archive, bases, proc
from lab.common.places import DL, GUEST, HOST, guest_of
from lab.common.say import Died, Skip
from lab.common.steps import build_lock, fresh, hash_of, make_dir, need_space, stamp, stamped, step

MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay")
SYSROOT = GUEST / "sysroot"
STAMP = bases.of_linux("kernel")


def version(series: str = "") -> str:
    """The version as by uname -r of the guest kernel of a base (the chosen one)."""
    sysroot = guest_of(series) / "sysroot"
    for place in (sysroot / "lib/modules").glob("*"):
        return place.name
    raise Died(f"{sysroot} has no kernel: remove it and build again")


def package_file() -> Path:
    """The package file that has the kernel's image, as it was downloaded."""
    return DL / stamped(STAMP)


def modules_dir(series: str = "") -> Path:
    """The stock modules of that kernel."""
    return guest_of(series) / "sysroot/lib/modules" / version(series)


def _packages() -> list[str]:
    """The package of the image; since Linux 7 also those of the modules and of the lists of what is built in."""
    base = bases.linux_base()
    if base.suite:
        image = archive.newest(rf"linux-binary-{re.escape(base.series)}[.][0-9]+[+]deb[0-9]+-amd64")
        return [image.replace("binary", part, 1) for part in ("binary", "modules", "base")] if image else []
    image = archive.dependency(base.image[archive.debian_codename()], base.image_pattern)
    return [image] if image else []


def _fetch() -> list[Path]:
    names = _packages()
    if not names:
        # A base that is not the default one need not be had everywhere.
        lack = f"the Debian archive has no kernel {bases.linux_base().series} for this machine"
        raise Skip(lack) if STAMP != "kernel" else Died(lack)
    return [archive.package(name) for name in names]


def _unpack(files: Sequence[Path]) -> None:
    shutil.rmtree(SYSROOT, ignore_errors=True)
    make_dir(GUEST)
    for file in files:
        proc.output(["dpkg", "-x", file, SYSROOT])
    if not (SYSROOT / "lib").exists():
        (SYSROOT / "lib").symlink_to("usr/lib")
    proc.output(["depmod", "-b", SYSROOT, version()], env={"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})


def _collect_modules(place: Path) -> None:
    """The needed modules and the order in which to load them. Decompressing them and taking off their
    signatures here spares the guest a good part of its boot time."""
    place.mkdir(parents=True)
    order: list[str] = []
    for wanted in MODULES:
        lines = proc.output(
            ["modprobe", "-d", SYSROOT, "-S", version(), "--ignore-install", "--show-depends", wanted],
            env={"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"},
        )
        for path in re.findall(r"^insmod (\S+)", lines, re.MULTILINE):
            name = Path(path).name.removesuffix(".xz")
            if name in order:
                continue
            data = Path(path).read_bytes()
            (place / name).write_bytes(lzma.decompress(data) if path.endswith(".xz") else data)
            proc.output(["strip", "--strip-debug", place / name])
            order.append(name)
    (place / "order").write_text("".join(f"{name}\n" for name in order), encoding="utf-8")


def pack(tree: Path, archive_file: Path, log: IO[str]) -> None:
    """Make an initramfs of a tree."""
    files = sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))
    new = archive_file.with_suffix(".new")
    with new.open("wb") as out:
        child = proc.start(
            ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=tree, stdin=-1, stdout=out, stderr=log, text=True
        )
        child.communicate("\n".join([".", *files]) + "\n")
        if proc.wait(child):
            raise Died(f"cannot pack {archive_file}")
    new.rename(archive_file)


def _image() -> Path:
    """The compressed kernel: in /boot, or beside the modules since Linux 7."""
    places = (SYSROOT / "boot" / f"vmlinuz-{version()}", modules_dir() / "vmlinuz")
    return next(place for place in places if place.is_file())


def _make(log: IO[str]) -> None:
    tree = GUEST / "initramfs"
    shutil.rmtree(tree, ignore_errors=True)
    _collect_modules(tree / "modules")
    shutil.copy2(HOST / "lab/guest/guest-init", tree / "init")
    pack(tree, GUEST / "initramfs.cpio", log)
    new = GUEST / "vmlinux.new"
    try:
        new.write_bytes(bzimage.unpack(_image().read_bytes()))
    except ValueError as err:
        raise Died(f"{_image()}: {err}: if it is damaged, remove {SYSROOT} and build again") from err
    new.rename(GUEST / "vmlinux")
    (GUEST / "version").write_text(version() + "\n", encoding="utf-8")


def fetch() -> None:
    """Unpack the guest's kernel, if it is not there. Nothing is compiled for it."""
    with build_lock(f"{GUEST.name}-kernel"):
        have = re.search(bases.linux_base().image_pattern, stamped(STAMP))
        if not have or not (SYSROOT / "lib/modules").is_dir():
            need_space(800)
            files = _fetch()
            step("unpacking the guest's kernel", "guest-unpack", lambda log: _unpack(files), about=15)
            stamp(STAMP, files[0].name)


def build() -> None:
    """Make what a guest boots from, if it is out of date."""
    tools.build(everything=False)
    fetch()
    with build_lock(GUEST.name):
        key = hash_of("lab/building/kernel.py", "lab/building/bzimage.py", "lab/bases.toml")
        key += f" {hash_of(HOST / 'lab/guest/guest-init')} {version()}"
        if fresh(GUEST.name, key) and (GUEST / "vmlinux").is_file():
            return
        step("building the guest's initramfs", "guest-initramfs", _make)
        stamp(GUEST.name, key)
