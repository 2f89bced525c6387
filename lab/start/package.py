# SPDX-License-Identifier: GPL-2.0-or-later
"""Build the Debian packages: the source package, with QEMU's source as a component, and from it the binary packages.
With --kit, fill DIR with what tries LWP on a machine without installing anything: run there `sudo DIR/run`. With
--release, write the release file, which counts and profiles on any x86-64 Linux (docs/release.md), and its sources."""

import argparse
import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

from lab.building import dkms, qemu_tree
from lab.checks import sources
from lab.common import proc
from lab.common.places import BUILD, TOP
from lab.common.say import Died, Usage, say
from lab.common.steps import build_lock, make_dir, need_space, step
from lab.start import kit, release_file

WORK = BUILD / "package"
TAKES_BASE = True
RESULTS = ("*.deb", "*.dsc", "*.tar.xz", "*.buildinfo", "*.changes")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("dir", type=Path, metavar="DIR", help="a new directory")
    parser.add_argument("--kit", action="store_true", help="the probe, KVM's modules and their tests, no packages")
    parser.add_argument("--release", action="store_true", help="the release file and its sources, no packages")
    parser.add_argument("--kernel", metavar="RELEASE", help="the kit's kernel, as by uname -r (default: that of here)")


def _need_packages() -> None:
    """Debian's tools and what debian/control wants."""
    if not shutil.which("dpkg-checkbuilddeps"):
        raise Died("package needs dpkg-dev: apt-get install dpkg-dev")
    argv = ["dpkg-checkbuilddeps", str(TOP / "debian/control")]
    run = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        lacking = run.stderr.strip().rpartition("dependencies: ")[2]
        raise Died(f"package needs {lacking}: apt-get build-dep {TOP}")


def _logged(log: IO[str], *argv: proc.Word, **options: object) -> None:
    if proc.logged(argv, log, **options):
        raise Died(f"{argv[0]} failed")


def _lay_out(tree: Path, upstream: str, log: IO[str]) -> None:
    """The tree of the source package, and beside it the two tarballs that dpkg-source wants."""
    shutil.rmtree(WORK / "source", ignore_errors=True)
    for name in sources.files():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / name, tree / name, follow_symlinks=False)
    orig = f"{tree.parent}/vlwp_{upstream}.orig"
    _logged(log, "tar", "-C", tree.parent, "--exclude=./debian", "-cJf", f"{orig}.tar.xz", tree.name)
    tarball = qemu_tree.tarball()
    shutil.copy(tarball, f"{orig}-qemu.tar.xz")
    (tree / "qemu").mkdir()
    _logged(log, "tar", "-C", tree / "qemu", "-xf", tarball, "--strip-components=1")


def main(args: argparse.Namespace) -> None:
    """The command."""
    place: Path = args.dir
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Died(f"{place}: is there and not empty: name a new directory")
    if args.kernel and not args.kit:
        raise Usage("package --kernel is for --kit")
    if args.kit and args.release:
        raise Usage("package --kit and --release are two things")
    if args.release:
        release_file.write(place)
        return
    if args.kit:
        kit.make(place, args.kernel or os.uname().release)
        say(f"{place}: on the machine to be tried, sudo {place}/run; README.md there says more")
        return
    _need_packages()
    need_space(5000)
    make_dir(place, WORK)
    tree = WORK / f"source/vlwp-{dkms.version()}"
    with build_lock("package"):
        step("laying out the source package", "package-source", lambda log: _lay_out(tree, dkms.version(), log))
        step("packing it", "package-pack", ["dpkg-source", "-b", str(tree)], cwd=tree.parent)
        build = ["env", f"VLWP_BUILD_DIR={WORK / 'build'}", "dpkg-buildpackage", "-us", "-uc", "-b"]
        step("building the packages", "package-build", build, about=600, cwd=tree)
        for pattern in RESULTS:
            for file in sorted(tree.parent.glob(pattern)):
                shutil.copy(file, place)
    for file in sorted(place.glob("*.deb")):
        say(f"{file}: apt-get install {file}")
