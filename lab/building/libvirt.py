# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt from Debian's source packages with the patches of libvirt/patches: the daemon with the QEMU driver, its
library, and libvirt's own tests. It is run from its build directory and never installed."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lab.building import deps, meson, overlay, qemu_tree
from lab.building.patches import Folder
from lab.common import archive, bases, proc
from lab.common.places import BUILD, DL, SRC, TOP
from lab.common.say import Died
from lab.common.steps import (
    build_lock, compiler, fresh, hash_of, jobs_count, made_whole, make_dir, need_space, stamp, step,
)

PATCHES = TOP / "libvirt/patches"
COVER = TOP / "libvirt/patches/cover-letter"

# The QEMU driver in one daemon, and nothing that is not used here. Paths are those of Debian's package.
CONFIGURE = (
    "--wrap-mode=nodownload --prefix=/usr --sysconfdir=/etc --localstatedir=/var -Dauto_features=disabled "
    "-Ddocs=disabled -Dtests=enabled -Ddriver_remote=enabled -Ddriver_libvirtd=enabled -Ddriver_qemu=enabled "
    "-Dcapng=enabled -Dattr=enabled -Dqemu_user=root -Dqemu_group=root -Dbuildtype=debugoptimized -Doptimization=1 "
    "-Ddebug=false"
).split()
OPTIONS = {"9.0": ("-Dyajl=enabled",), "11.3": ("-Djson_c=enabled", "-Dlibnl=enabled")}
# What it needs besides the packages of './vlwp deps'.
PACKAGES = {
    "9.0": ("libgnutls28-dev", "libtirpc-dev", "libxml2-utils", "libyajl-dev", "rpcsvc-proto", "xsltproc"),
    "11.3": (
        *("libgnutls28-dev", "libnl-3-dev", "libnl-route-3-dev", "libtirpc-dev", "libxml2-utils"),
        *("rpcsvc-proto", "xsltproc"),
    ),
}

PROGRAMS = ("src/libvirtd", "src/virtqemud", "src/libvirt_driver_qemu.so")
# libvirt's own tests of what the patches touch.
TESTS = (
    *("cputest", "genericxml2xmltest", "virschematest", "qemucapabilitiestest", "qemucapabilitiesnumbering"),
    *("qemucaps2xmltest", "domaincapstest", "qemumonitorjsontest", "qemuxml2argvtest", "qemuxmlconftest"),
)


@dataclass(frozen=True)
class Libvirt:
    """A libvirt: its base, and where it is."""

    series: str  # as in "9.0"
    suite: str  # whose source package it is

    @property
    def name(self) -> str:
        """What its directories and stamps are called."""
        return f"libvirt-{self.series}"

    @property
    def tree(self) -> Path:
        """The patched source."""
        return SRC / self.name

    @property
    def out(self) -> Path:
        """The build directory."""
        return BUILD / self.name

    @property
    def run(self) -> Path:
        """The script that runs a program of the build directory with what belongs to it."""
        return self.out / "run"

    @property
    def daemon(self) -> Path:
        """libvirtd."""
        return self.out / "src/libvirtd"

    @property
    def modular(self) -> Path:
        """The modular daemon of the QEMU driver."""
        return self.out / "src/virtqemud"

    @property
    def folder(self) -> Folder:
        """The patches, or how they differ from the default base's."""
        default = self.series == bases.default("libvirt")
        return Folder("patches", PATCHES, None if default else TOP / "libvirt/bases" / self.series)

    def patches(self) -> list[Path]:
        """The series, in order."""
        return self.folder.files(BUILD / "patches" / self.name)


def known() -> list[Libvirt]:
    """All that there are patches for, oldest first."""
    return [Libvirt(series, suite) for series, suite in bases.libvirts().items()]


def own() -> Libvirt:
    """That of this machine's Debian release."""
    return next(one for one in known() if one.suite == archive.debian_codename())


def _download(package: str, log: IO[str]) -> None:
    """The tarball and Debian's changes; some mirrors have nothing else of a source package."""
    for only in ("--tar-only", "--diff-only"):
        print(*archive.source_package(package, only), file=log)


def fetch(libvirt: Libvirt) -> Path:
    """The unpacked pristine source."""
    with build_lock(f"{libvirt.name}-source"):
        found = [path for path in SRC.glob(f"{libvirt.name}.*") if re.fullmatch(r"\d+", path.name.rpartition(".")[2])]
        if found:
            return max(found, key=lambda path: int(path.name.rpartition(".")[2]))
        make_dir(SRC)
        archive.add_sources(libvirt.suite)
        known = archive.source_versions("libvirt")
        versions = [one for one in known if one.startswith(f"{libvirt.series}.")]
        if not versions:
            says = archive.moved_on(libvirt.suite, "libvirt", libvirt.series, known)
            raise Died(f"{says}: upstream's libvirt-{libvirt.series}.N.tar.xz helps, unpacked in {SRC}")
        upstream = versions[-1].rpartition("-")[0]
        step(
            f"downloading the source of libvirt {upstream} (9 MB)",
            f"{libvirt.name}-download",
            lambda log: _download(f"libvirt={versions[-1]}", log),
        )
        place = SRC / f"libvirt-{upstream}"
        tarball = DL / f"libvirt_{upstream}.orig.tar.xz"
        step(f"unpacking {tarball.name}", f"{libvirt.name}-unpack", lambda log: archive.unpack(tarball, place), about=5)
        return place


def _stage(libvirt: Libvirt, pristine: Path, stage: Path, log: IO[str]) -> None:
    """Only the files that the patches change."""
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    qemu_tree.apply(libvirt.patches(), pristine, stage, log)


def _patched(libvirt: Libvirt, pristine: Path) -> None:
    """Bring the tree in step with the patches; files that stay as they were keep their time stamps."""
    stage = SRC / f"stage-{libvirt.name}"
    title = f"applying the patches of libvirt {libvirt.series}"
    step(title, f"{libvirt.name}-patches", lambda log: _stage(libvirt, pristine, stage, log))
    if not libvirt.tree.is_dir():
        with made_whole(libvirt.tree) as new:
            shutil.copytree(pristine, new, symlinks=True, dirs_exist_ok=True)
    overlay.lay_over(stage, SRC / f"stage-{libvirt.name}.list", pristine, libvirt.tree, libvirt.name)


def tests(libvirt: Libvirt) -> list[str]:
    """Those of TESTS that this libvirt has."""
    return [test for test in TESTS if f"\ntests/{test}: " in _all_targets(libvirt)]


def _all_targets(libvirt: Libvirt) -> str:
    return proc.output(["ninja", "-C", libvirt.out, "-t", "targets", "all"])


def _targets(libvirt: Libvirt) -> list[str]:
    """What is compiled: tests preload their mocks."""
    mocks = re.findall(r"^(tests/lib\w*mock\.so): ", _all_targets(libvirt), re.MULTILINE)
    return [*PROGRAMS, *(f"tests/{test}" for test in tests(libvirt)), *mocks]


def build(libvirt: Libvirt) -> None:
    """Build the daemon and libvirt's own tests, if they are out of date."""
    with build_lock(libvirt.name):
        key = hash_of("lab/building/libvirt.py", "lab/building/patches.py", "lab/bases.toml", "libvirt")
        if fresh(libvirt.name, key) and libvirt.daemon.is_file():
            return
        lacks = deps.lacking(PACKAGES[libvirt.series])
        if lacks:
            raise Died(f"building libvirt needs {' '.join(lacks)}: apt-get install {' '.join(lacks)}")
        need_space(1500)
        meson.fetch()
        _patched(libvirt, fetch(libvirt))
        if not meson.configured(libvirt.out):
            shutil.rmtree(libvirt.out, ignore_errors=True)
            options = [*CONFIGURE, *OPTIONS[libvirt.series]]
            setup = ["env", f"CC={compiler()}", "meson", "setup", *options, str(libvirt.out), str(libvirt.tree)]
            step(f"configuring libvirt {libvirt.series}", f"{libvirt.name}-configure", setup, about=30)
        ninja = ["nice", "-n", "10", "ninja", "-C", str(libvirt.out), "-j", str(jobs_count()), *_targets(libvirt)]
        step(f"compiling libvirt {libvirt.series}", f"{libvirt.name}-compile", ninja, about=400)
        stamp(libvirt.name, key)
