# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest: Debian's stock kernel, unpacked into build/guest/sysroot, its ELF image for the PVH boot, and
an initramfs of our init and the modules that it needs to reach the host's files."""

import os
import re
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from lab.building import bzimage, tools
from lab.common import archive, bases, proc
from lab.common.places import DL, GUEST, GUEST_I386, HOST, OWN_KERNEL, guest_of
from lab.common.say import Died, Skip
from lab.common.steps import build_lock, fresh, hash_of, make_dir, need_space, stamp, stamped, step

# Lists of modules, by their names in the initramfs of each machine.
MODULES: dict[str, dict[str, Sequence[str]]] = {
    "initramfs": {
        "order": ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay"),
        "network": ("virtio_net",),
    },
    "count-1": {"order": ("virtio_pci", "virtio_console", "overlay", "erofs", "nd_e820", "nd_pmem")},
}
SYSROOT = GUEST / "sysroot"
STAMP = "kernel-own" if OWN_KERNEL else bases.of_linux("kernel")


def version(series: str = "") -> str:
    """The version as by uname -r of the guest kernel of a base (the chosen one)."""
    return _version(guest_of(series) / "sysroot")


def _version(sysroot: Path) -> str:
    for place in (sysroot / "lib/modules").glob("*"):
        return place.name
    raise Died(f"{sysroot} has no kernel: remove it and build again")


def package_file() -> Path:
    """The package file that has the kernel's image, as it was downloaded."""
    return DL / stamped(STAMP)


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


def _unpack(files: Sequence[Path], sysroot: Path) -> None:
    shutil.rmtree(sysroot, ignore_errors=True)
    make_dir(sysroot.parent)
    for file in files:
        proc.output(["dpkg", "-x", file, sysroot])
    if not (sysroot / "lib").exists():
        (sysroot / "lib").symlink_to("usr/lib")
    proc.output(["depmod", "-b", sysroot, _version(sysroot)], env={"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})


def collect_modules(place: Path, sysroot: Path, names: Sequence[str], listed: str = "order") -> None:
    """The modules of these names, what they need, and a list of the order in which to load them. Decompressing them and
    taking off their signatures here spares the guest a good part of its boot time."""
    place.mkdir(parents=True, exist_ok=True)
    order: list[str] = []
    for wanted in names if any((sysroot / "lib/modules").glob("*/modules.dep")) else ():
        lines = proc.output(
            ["modprobe", "-d", sysroot, "-S", _version(sysroot), "--ignore-install", "--show-depends", wanted],
            env={"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"},
        )
        for path in re.findall(r"^insmod (\S+)", lines, re.MULTILINE):
            name = re.sub("[.](xz|zst|gz)$", "", Path(path).name)
            if name in order:
                continue
            (place / name).write_bytes(bzimage.plain(Path(path).read_bytes()))
            proc.output(["strip", "--strip-debug", place / name])
            order.append(name)
    (place / listed).write_text("".join(f"{name}\n" for name in order), encoding="utf-8")


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


def image_file(sysroot: Path) -> Path:
    """The compressed kernel: in /boot, or beside the modules since Linux 7."""
    name = _version(sysroot)
    places = (sysroot / "boot" / f"vmlinuz-{name}", sysroot / "lib/modules" / name / "vmlinuz")
    return next(place for place in places if place.is_file())


def _make(log: IO[str], guest: Path, init: Path) -> None:
    sysroot = guest / "sysroot"
    for name, lists in MODULES.items():
        shutil.rmtree(guest / name, ignore_errors=True)
        for listed, modules in lists.items():
            collect_modules(guest / name / "modules", sysroot, modules, listed)
        # Without what names the directory in which it was built: it is in the memory of count-1.
        proc.output(["strip", "--remove-section=.note.gnu.build-id", "-o", guest / name / "init", init])
    pack(guest / "initramfs", guest / "initramfs.cpio", log)
    new, image = guest / "vmlinux.new", image_file(sysroot)
    try:
        new.write_bytes(bzimage.unpack(image.read_bytes()))
    except ValueError as err:
        raise Died(f"{image}: {err}: if it is damaged, remove {sysroot} and build again") from err
    new.rename(guest / "vmlinux")
    (guest / "version").write_text(_version(sysroot) + "\n", encoding="utf-8")


def _own() -> None:
    """The user's kernel in a tree like that of a package. Its modules are those of its version beside it, or of this
    machine; if there are none, it has all drivers that it needs."""
    given = Path(os.path.abspath(OWN_KERNEL))
    try:
        image = given.read_bytes()
        name = bzimage.release(image)
    except (OSError, ValueError, struct.error) as err:
        raise Died(f"VLWP_KERNEL={OWN_KERNEL}: {getattr(err, 'strerror', None) or err}") from err
    shutil.rmtree(SYSROOT, ignore_errors=True)
    make_dir(SYSROOT / "lib/modules")
    make_dir(SYSROOT / "boot")
    (SYSROOT / "boot" / f"vmlinuz-{name}").write_bytes(image)
    places = [root / "lib/modules" / name for root in (given.parent.parent, Path("/"))]
    found = next((place for place in places if place.is_dir()), None)
    modules = SYSROOT / "lib/modules" / name
    modules.symlink_to(found) if found else modules.mkdir()
    stamp(STAMP, _of_own())


def _of_own() -> str:
    status = os.stat(OWN_KERNEL)
    return f"{os.path.abspath(OWN_KERNEL)} {status.st_size} {status.st_mtime_ns}"


def fetch() -> None:
    """Unpack the guest's kernel, if it is not there. Nothing is compiled for it."""
    if OWN_KERNEL:
        with build_lock(f"{GUEST.name}-kernel"):
            if not os.path.isfile(OWN_KERNEL) or stamped(STAMP) != _of_own():
                _own()
        return
    with build_lock(f"{GUEST.name}-kernel"):
        have = re.search(bases.linux_base().image_pattern, stamped(STAMP))
        if not have or not (SYSROOT / "lib/modules").is_dir():
            need_space(800)
            files = _fetch()
            step("unpacking the guest's kernel", "guest-unpack", lambda log: _unpack(files, SYSROOT), about=15)
            stamp(STAMP, files[0].name)


def build() -> None:
    """Make what a guest boots from, if it is out of date."""
    tools.build(everything=False)
    fetch()
    _build(GUEST, HOST / "lab/guest/guest-init")


def _build(guest: Path, init: Path) -> None:
    with build_lock(guest.name):
        key = hash_of("lab/building/kernel.py", "lab/building/bzimage.py", "lab/bases.toml")
        key += f" {hash_of(init)} {_version(guest / 'sysroot')} {_of_own() if OWN_KERNEL else ''}"
        if fresh(guest.name, key) and (guest / "vmlinux").is_file():
            return
        step("building the guest's initramfs", "guest-initramfs", lambda log: _make(log, guest, init))
        stamp(guest.name, key)


def build_i386() -> None:
    """The same with Debian 12's kernel for 32-bit processors; its sysroot has a static shell, too."""
    sysroot = GUEST_I386 / "sysroot"
    with build_lock(f"{GUEST_I386.name}-kernel"):
        if not (sysroot / "lib/modules").is_dir():
            archive.add_binaries("bookworm", "i386")
            names = [archive.dependency("linux-image-686-pae:i386", "^linux-image-"), "busybox-static:i386"]
            files = [archive.package(name) for name in names]
            step("unpacking the i386 guest's kernel", "guest-unpack", lambda log: _unpack(files, sysroot), about=15)
    _build(GUEST_I386, HOST / "lab/guest/guest-init-32")
