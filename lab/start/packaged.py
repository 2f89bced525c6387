# SPDX-License-Identifier: GPL-2.0-or-later
"""What debian/rules needs of the lab: QEMU with LWP as a package has it, the DKMS package of KVM's modules, the
conformance suite."""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

from lab.building import dkms, qemu, tools
from lab.common.bases import linux_bases
from lab.common.steps import make_dir
from lab.start import install_conformance

FLAVOUR = "package"
PLACE = "usr/lib/vlwp"  # beside the distribution's QEMU
PROGRAM = "qemu-system-x86_64"
# Firmware of other packages, which vlwp-qemu depends on: that of ipxe-qemu in Debian 13, and in 12.
FIRMWARE = ("/usr/share/seabios/*.bin", "/usr/share/qemu/*.rom", "/usr/lib/ipxe/qemu/*.rom")


def _install_qemu(root: Path) -> None:
    """The emulator looks for its firmware, and keymaps for VNC, in ../share/qemu."""
    out, place = qemu.out_dir(FLAVOUR), root / PLACE
    make_dir(place / "bin", place / "share/qemu")
    shutil.copy(out / PROGRAM, place / "bin")
    for rom in (out / qemu.ROMS).glob("*.bin"):
        shutil.copy(rom, place / "share/qemu")
    keymaps = qemu.tree_dir(FLAVOUR) / "pc-bios/keymaps"
    shutil.copytree(keymaps, place / "share/qemu/keymaps", ignore=shutil.ignore_patterns("meson.build"))
    files = {file.name: file for pattern in FIRMWARE for file in Path("/").glob(pattern[1:])}
    for name, file in files.items():
        (place / "share/qemu" / name).symlink_to(file)


def _install_dkms(root: Path) -> None:
    place = root / dkms.source().relative_to("/")
    make_dir(place.parent)
    dkms.write_package(place)


def _install_conformance(root: Path) -> None:
    tools.build()
    install_conformance.install(root / "usr/lib/vlwp/conformance")


def _substvars() -> None:
    """The packages of the kernels that the modules are made for."""
    kernel_sources = [base.source for base in linux_bases()]
    headers = [source.replace("-source-", "-headers-") + "-amd64" for source in kernel_sources]
    print(f"vlwp:KernelSource={' | '.join(kernel_sources)}")
    print(f"vlwp:KernelHeaders={' | '.join([*headers, 'linux-headers-amd64'])}")


WORK: dict[str, Callable[[Path], None]] = {
    "build-qemu": lambda _: qemu.build(FLAVOUR),
    "install-qemu": _install_qemu,
    "install-dkms": _install_dkms,
    "install-conformance": _install_conformance,
    "substvars": lambda _: _substvars(),
}


def main() -> None:
    """The command that debian/rules calls."""
    parser = argparse.ArgumentParser(prog="lab.start.packaged", description=__doc__)
    parser.add_argument("what", choices=tuple(WORK))
    parser.add_argument("root", nargs="?", type=Path, default=Path("debian/tmp"), help="the package's files go there")
    args = parser.parse_args()
    WORK[args.what](args.root)


if __name__ == "__main__":
    main()
