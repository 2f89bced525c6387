# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the patch series with cover letters: those for Linux into DIR/linux-*, those for QEMU into DIR/qemu-*, one for
each libvirt into DIR/libvirt-*; and a patch for Ganeti and one for Nova. DIR/lwpcore is the library of which QEMU's
series for LWP names the commit. The file maintainers in a folder of Linux and QEMU says whom each patch is for."""

import argparse
import re
import shutil
import tempfile
from pathlib import Path

from lab.building import linux as linux_source, qemu_tree, tools, deps
from lab.common.say import Died, Usage, say
from lab.common.steps import make_dir, step
from lab.series import library, libvirt, linux, maintainers, managers, qemu
from lab.series.tree import Author, Tree, author

TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", type=Path, metavar="DIR", help="a new directory")
    parser.add_argument("--as", dest="author", default="", metavar="'NAME <EMAIL>'", help="from whom; who signs off")
    parser.add_argument("--lwpcore", default="", metavar="URL", help="where DIR/lwpcore is published (that folder)")


def main(args: argparse.Namespace) -> None:
    place: Path = args.dir
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Died(f"{place}: is there and not empty: name a new directory")
    who = author(args.author)
    if re.search(r"\s", args.lwpcore):
        raise Usage(f"export: --lwpcore='{args.lwpcore}' is no URL: it has white space")
    make_dir(place)
    deps.ensure()
    export(place, who, args.lwpcore)


def export(place: Path, who: Author, url: str = "") -> None:
    """All series into a folder. Nothing is compiled for it."""
    tools.configure()
    with tempfile.TemporaryDirectory(prefix="vlwp-export.") as name:
        work, kernel, emulator = Path(name), linux_source.fetch_series(), qemu_tree.fetch()
        shutil.copytree(kernel.pristine, work / "linux", symlinks=True)
        title = f"exporting the series for Linux {kernel.version}"
        step(title, "export-linux", lambda log: linux.make(Tree(work / "linux", who, log), place), about=5)
        copy_touched(emulator, [patch for name in qemu_tree.SERIES for patch in qemu_tree.series(name)], work / "qemu")
        title = f"exporting the series for QEMU {emulator.name.rpartition('-')[2]}"
        step(title, "export-qemu", lambda log: qemu.make(Tree(work / "qemu", who, log), place, url), about=5)
        title = "asking who maintains what they change"
        step(title, "export-to", lambda _: _to(kernel.pristine, emulator, place), about=10)
    libvirt.write(place, who)
    managers.write(place, who)
    for series in (*linux.names(), *qemu.names(), *libvirt.names(), *managers.VERSIONS):
        say(f"{place}/{series}: {len(list((place / series).glob('*.patch')))} files for git am")
    say(f"{place}/{library.NAME}: a git repository; publish it before the series for QEMU")


def _to(kernel: Path, emulator: Path, place: Path) -> None:
    for name in linux.names():
        maintainers.write(kernel, place / name, ["--no-tree"])
    for name in qemu.names():
        maintainers.write(emulator, place / name)


def copy_touched(pristine: Path, patches: list[Path], place: Path) -> None:
    """Copy those files of a source that patches change."""
    for name in {name for patch in patches for name in qemu_tree.changed_files(patch)}:
        if (pristine / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pristine / name, place / name)
