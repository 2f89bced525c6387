# SPDX-License-Identifier: GPL-2.0-or-later
"""KVM's sources from Debian's linux-source package, the stock kernel headers, and a tree in which kvm.ko and
kvm-amd.ko build against them as external modules."""

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from lab.building import kbuild, kernel, overlay
from lab.building.patches import Folder
from lab.common import archive, bases, proc
from lab.common.places import BUILD, HOST, KVM, LAB, SRC, TOP
from lab.common.say import Died
from lab.common.steps import (
    build_lock, compiler, fresh, hash_of, jobs_count, made_whole, make_dir, need_space, stamp, step,
)

TARBALL = "VLWP_LINUX_TARBALL"  # an upstream tarball of the base instead of Debian's source
LAYOUT = LAB / "building/layout.sh"
# What the series needs beside the parts that layout.sh takes: files that it changes, and who maintains them.
SELFTESTS = "tools/testing/selftests/kvm"
SERIES_PARTS = (SELFTESTS, "MAINTAINERS", "scripts/get_maintainer.pl")
MODULES = ("kvm", "kvm-amd")


def own(series: str = "") -> Path | None:
    """What a base (the chosen one) has besides the default base's patches; None: it is that one."""
    series = series or bases.linux_base().series
    return None if series == bases.default("linux") else TOP / "kvm/bases" / series


def folders(series: str = "") -> tuple[Folder, ...]:
    """The folders of patches of a base (the chosen one): the hooks, and what the selftest needs."""
    mine = own(series)
    return tuple(Folder(name, TOP / "kvm" / name, mine and mine / name) for name in ("patches", "selftests"))


def hooks(number: int = 0) -> list[Path]:
    """The patches of one of these folders of the chosen base, in order."""
    return folders()[number].files(BUILD / "patches" / f"linux-{bases.linux_base().series}")


def compat(series: str = "") -> Path:
    """The header of what a kernel (the chosen one) calls otherwise."""
    return (own(series) or TOP / "kvm/patches") / "lwp_compat.h"


def write_patches(series: str, place: Path) -> None:
    """The hooks of a base and its header, as layout.sh wants them."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name, text in folders(series)[0].texts().items():
        (place / name).write_text(text, encoding="utf-8")
    shutil.copy(compat(series), place)


def selftest_folder(tree: Path) -> Path:
    """Where a kernel has KVM's selftests of x86: the folder's name has changed."""
    places = (tree / SELFTESTS / name for name in ("x86", "x86_64"))
    return next(place for place in places if place.is_dir())


def selftest_files() -> list[Path]:
    """The selftest, and what a kernel's library of selftests lacks."""
    tests = TOP / "kvm/selftests"
    mine = own()
    return [tests / "svm_lwp_test.c", *sorted((mine / "selftests" if mine else tests).glob("*.h"))]


@dataclass(frozen=True)
class Linux:
    """The unpacked source and headers of one version of Debian's kernel."""

    abi: str  # as by uname -r
    version: str  # of the packages
    pristine: Path
    headers: Path

    @property
    def headers_dir(self) -> Path:
        """The folder that external modules are built against."""
        return self.headers / "usr/src" / f"linux-headers-{self.abi}"


def fetch(abi: str = "") -> Linux:
    """Source and headers of exactly the version of a kernel of the base, named as by uname -r (the guest's kernel)."""
    kernel.fetch()
    abi = abi or kernel.version()
    guests = abi == kernel.version()
    file = kernel.package_file() if guests else archive.package(f"linux-headers-{abi}")
    version = proc.output(["dpkg-deb", "-f", file, "Version"]).strip()
    linux = Linux(abi, version, SRC / f"linux-{version}", SRC / f"headers-{abi}")
    make_dir(SRC)
    given = os.environ.get(TARBALL)
    with build_lock(bases.of_linux("linux-source")):
        if not linux.headers.is_dir():
            _fetch_headers(linux)
        make_movable(linux.headers_dir / "Makefile")  # it has named the place where it was unpacked
        if given:
            return _of_tarball(linux, Path(given))
        if not linux.pristine.is_dir():
            file = _source(version)
            title = f"unpacking the source of KVM {version}"
            step(title, "linux-unpack", lambda log: _unpack(file, linux.pristine), about=20)
    return linux


def _source(version: str) -> Path:
    """The package of the source, of exactly this version."""
    try:
        return archive.package(f"{bases.linux_base().source}={version}")
    except Died as err:
        release = archive.upstream(version)
        raise Died(f"{err}: upstream's linux-{release}.tar.xz helps, {TARBALL}=FILE") from err


def _tarball_version(file: Path) -> str:
    """The version in the name of an upstream tarball, which must be one of the base."""
    series = bases.linux_base().series
    wanted = f"the base is Linux {series}.y, the name must be linux-{series}.N.tar.xz"
    return archive.given_version(file, rf"linux[-_]({re.escape(series)}(\.\d+)?)\.(orig\.)?tar", wanted)


def _of_tarball(linux: Linux, file: Path) -> Linux:
    """KVM's source of an upstream tarball, beside Debian's headers: the modules are for the guests' stock kernel."""
    version = _tarball_version(file)
    place = SRC / f"linux-upstream-{version}"
    if not place.is_dir():
        title = f"unpacking the source of KVM {version}"
        step(title, "linux-unpack", lambda log: _unpack_tarball(file, place), about=20)
    return replace(linux, version=version, pristine=place)


def _unpack_tarball(file: Path, place: Path, parts: list[str] | None = None) -> None:
    """Unpack the parts that layout.sh takes, or what is named ("": everything)."""
    try:
        with tarfile.open(file, mode="r|*") as tar:
            first = tar.next()
    except tarfile.TarError as err:
        raise Died(f"{file}: this is no tarball: {err}") from err
    top = first.name.split("/")[0] if first else ""
    wanted = proc.output([LAYOUT, "--parts"]).split() if parts is None else parts
    with made_whole(place) as new:
        proc.output(["tar", "-xf", file, "-C", new, "--strip-components=1", *(f"{top}/{part}" for part in wanted)])


def make_movable(makefile: Path) -> None:
    """Let the makefile of headers name its own folder, and that of the common headers beside it, wherever they lie."""
    text = makefile.read_text(encoding="utf-8")
    beside = "$(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)/"
    text = re.sub(r"(?<=include )\S*/usr/src/", lambda _: beside, text)
    makefile.write_text(re.sub(r"=\S*/usr/src/", lambda _: f":={beside}", text), encoding="utf-8")


def _fetch_headers(linux: Linux) -> None:
    base = re.sub("(-cloud)?-amd64$", "", linux.abi)
    with made_whole(linux.headers) as new:
        for name in (f"linux-headers-{linux.abi}", f"linux-headers-{base}-common", f"linux-kbuild-{base}"):
            proc.output(["dpkg", "-x", archive.package(f"{name}={linux.version}"), new])
    make_movable(linux.headers_dir / "Makefile")
    if not kbuild.runs_here(linux.headers_dir):
        whole, work = fetch_all(linux), SRC / f"kbuild-{linux.abi}"
        title = f"building kbuild's programs of Linux {linux.version} for this machine"
        step(title, "linux-kbuild", lambda log: kbuild.adapt(linux.headers_dir, whole, work, log), about=90)


def _unpack(file: Path, place: Path, parts: list[str] | None = None) -> None:
    """Unpack the parts that layout.sh takes, or what is named ("": everything)."""
    source = bases.linux_base().source
    wanted = proc.output([LAYOUT, "--parts"]).split() if parts is None else parts
    script = 'dpkg --fsys-tarfile "$0" | tar -xf - -O "./usr/src/$1.tar.xz" | '
    script += 'tar -xJf - -C "$2" --strip-components=1 "${@:3}"'
    members = [f"{source}/{part}" for part in wanted]
    with made_whole(place) as new:
        proc.output(["bash", "-o", "pipefail", "-c", script, file, source, new, *members])


def fetch_all(linux: Linux) -> Path:
    """The whole source, unpacked."""
    place = SRC / f"linux-all-{linux.version}"
    if not place.is_dir():
        unpack = _unpacker(linux)
        step(f"unpacking all of Linux {linux.version}", "linux-all", lambda log: unpack(place, [""]), about=90)
    return place


def _unpacker(linux: Linux) -> Callable[[Path, list[str]], None]:
    """What unpacks parts of the source into a folder."""
    given = os.environ.get(TARBALL)
    if given:
        tarball = Path(given)
        return lambda place, parts: _unpack_tarball(tarball, place, parts)
    source = bases.linux_base().source
    file = archive.package(f"{source}={linux.version}")
    return lambda place, parts: _unpack(file, place, parts)


def fetch_series() -> Linux:
    """fetch(), with the parts that the series needs."""
    linux = fetch()
    with build_lock(bases.of_linux("linux-source")):
        missing = [part for part in SERIES_PARTS if not (linux.pristine / part).exists()]
        if missing:
            title = f"unpacking more of Linux {linux.version}"
            step(title, "linux-more", lambda log: _unpack_more(linux, missing), about=20)
    return linux


def release(given: str) -> Path:
    """The parts of a kernel's source that the series needs, of a folder, or of a tarball, which has all."""
    file = Path(given)
    if file.is_dir():
        return file
    if not file.is_file():
        raise Died(f"{given}: no such tarball or folder of Linux")
    place = SRC / f"release-{file.name.partition('.tar')[0]}"
    if not place.is_dir():
        parts = [*proc.output([LAYOUT, "--parts"]).split(), *SERIES_PARTS]
        title = f"unpacking {file.name}"
        step(title, "linux-unpack", lambda log: _unpack_tarball(file.absolute(), place, parts), about=60)
    return place


def _unpack_more(linux: Linux, parts: list[str]) -> None:
    """Add parts to the unpacked source."""
    more = linux.pristine.with_name(f"{linux.pristine.name}.more")
    _unpacker(linux)(more, parts)
    for part in parts:
        (linux.pristine / part).parent.mkdir(parents=True, exist_ok=True)
        (more / part).rename(linux.pristine / part)
    shutil.rmtree(more)


def lay_out(linux: Linux, out: Path, log: IO[str]) -> None:
    """A patched tree in out/stage, and out/tree in which the modules build."""
    make_dir(out)
    write_patches(bases.linux_base().series, out / "patches")
    command = [LAYOUT, TOP, linux.pristine, out / "patches", out]
    laid = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    log.write(laid.stdout)
    if laid.returncode:
        tried = re.findall(r"^(\S+\.patch)$", laid.stdout, re.MULTILINE)
        raise Died(f"{tried[-1] if tried else 'the tree'} does not apply to Linux {linux.version}")


def _make(linux: Linux, place: Path) -> list[str]:
    """The command that compiles what is in a folder as external modules."""
    show = "include .kernelvariables\nshow:\n\t@echo $(CC)\n"
    cc = proc.output(["make", "-s", "-C", linux.headers_dir, "-f", "-", "show"], input=show, stdin=None).strip()
    if not shutil.which(cc.split()[-1]):
        cc = "gcc"  # headers of a newer Debian's kernel, see kbuild.py
    return [
        *("make", "-C", str(linux.headers_dir), f"M={place}", f"CC={compiler(cc)}", "CONFIG_DEBUG_INFO_BTF_MODULES="),
        *("-j", str(jobs_count()), "modules"),
    ]


def make_command(linux: Linux, tree: Path, werror: bool = True) -> list[str]:
    """The command that compiles both modules in a tree that lay_out() made; warnings are errors."""
    return [
        *_make(linux, tree / "arch/x86/kvm"), "CONFIG_KVM_INTEL=n", f"CONFIG_KVM_WERROR={'y' if werror else ''}",
        "KCFLAGS=-g0",
    ]


def lwp_module() -> Path:
    """lwp.ko of guest-tools/module, for the guest's kernel."""
    place = HOST / "guest-tools/module"
    linux = fetch()
    with build_lock("lwp-module"):
        step("compiling lwp.ko", "lwp-module", [*_make(linux, place), "KCFLAGS=-g0 -Werror"])
    return place / "lwp.ko"


def strip_modules(tree: Path, place: Path) -> None:
    """The modules without debugging information, into a folder."""
    for module in MODULES:
        proc.output(["strip", "-g", "-o", place / f"{module}.ko", tree / f"arch/x86/kvm/{module}.ko"])


def _bring_in_step(linux: Linux, place: Path) -> None:
    """Make place/tree what lay_out() makes; what somebody has changed in it is an error."""
    new, tree, listing = place / "new", place / "tree", place / "tree.list"
    shutil.rmtree(new, ignore_errors=True)
    if not listing.is_file():  # of an older version, which did not say what it had put there
        shutil.rmtree(tree, ignore_errors=True)
    step("applying the patches of KVM", "kvm-patches", lambda log: lay_out(linux, new, log))
    if not tree.is_dir():
        shutil.copytree(new / "tree", tree)
    overlay.lay_over(new / "tree", listing, overlay.NOWHERE, tree, f"linux-{bases.linux_base().series}")
    shutil.rmtree(new)


def build_for(abi: str = "") -> Path:
    """kvm.ko and kvm-amd.ko with LWP for a stock kernel of the base, named as by uname -r (the guest's kernel), if they
    are out of date. Result: their folder."""
    if given := os.environ.get(TARBALL):
        _tarball_version(Path(given))
    kernel.build()
    abi = abi or kernel.version()
    place = KVM if abi == kernel.version() else BUILD / f"kvm-{abi}"
    with build_lock(place.name):
        folders = (f"kvm/{name}" for name in ("svm", "patches", "bases", "engine"))
        inputs = (*(f"lab/building/{name}" for name in ("linux.py", "patches.py", "layout.sh")), "vmcb", *folders)
        key = f"{hash_of(*inputs)} {abi} {os.environ.get(TARBALL, '')}".rstrip()
        if not fresh(place.name, key) or not all((place / f"{module}.ko").is_file() for module in MODULES):
            need_space(1500)
            linux = fetch(abi)
            _bring_in_step(linux, place)
            step("compiling kvm.ko and kvm-amd.ko", "kvm-compile", make_command(linux, place / "tree"), about=90)
            strip_modules(place / "tree", place)
            stamp(place.name, key)
    return place


def build() -> None:
    """Those for the guest's kernel, in build/kvm."""
    build_for()
