# SPDX-License-Identifier: GPL-2.0-or-later
"""The source trees of QEMU: fetching and unpacking the pristine one, and keeping a patched copy in step with
this repository in such a way that a file whose content stays keeps its time stamp."""

import os
import re
import shutil
from pathlib import Path
from typing import IO

from lab.building import overlay
from lab.building.patches import Folder
from lab.common import archive, bases, proc
from lab.common.places import BUILD, DL, SRC, TOP
from lab.common.say import Died, say
from lab.common.steps import build_lock, fresh, make_dir, stamp, stamped, step

TARBALL = "VLWP_QEMU_TARBALL"  # an upstream tarball of the base instead of Debian's source
PATCHES = TOP / "qemu-patches"
# The series, each on what is before it: fixes of QEMU itself, in sets that need nothing of each other, performance
# counters, LWP, both for programs.
FIXES = tuple(f"1-fixes/{name}" for name in ("step-atomic", "smc", "physmem", "i386", "rest"))
SERIES = (*FIXES, "2-pmu", "3-lwp", "4-user")
# Folders with new files, and where these lie in QEMU's source.
LWP = "target/i386/lwp"
LIBRARY = "subprojects/lwpcore"  # what QEMU shares with KVM
COMPAT = "count/qemu-compat.h"  # what QEMUs call otherwise
COUNT = "target/i386/count"
NEW = {
    "count": COUNT, "lwp": LWP, "lwpcore": LIBRARY, "pmu": "target/i386/pmu", "user": "target/i386/user",
    "linux-user": "linux-user", "docs": "docs", "tests": "tests",
}
PACKAGING = "packaging"
# What processors of the nested lab have besides, in a flavour of its own: shadow stacks.
CET, LAB = "cet", "lab"
MUTANTS = ("mutants", "user-mutants")


def wanted_version() -> str:
    """The wanted version of the source package if the archive has it, else its newest of the base."""
    base = bases.qemu_base()
    if base.sha256:
        return base.version
    known = archive.source_versions("qemu")
    versions = [version for version in known if base.serves(version)]
    if not versions:
        raise Died(f"{archive.moved_on(base.suite, 'QEMU', base.series, known)}: {_helps()}")
    if base.version not in versions:
        say(f"{base.suite} has QEMU {versions[-1]}; the patches are made against {base.version}")
    return base.version if base.version in versions else versions[-1]


def _helps() -> str:
    release = archive.upstream(bases.qemu_base().version).partition("+")[0]
    return f"upstream's qemu-{release}.tar.xz helps, {TARBALL}=FILE"


def fetch() -> Path:
    """The unpacked pristine source, of VLWP_QEMU_TARBALL if the user names one."""
    with build_lock("qemu-source"):  # all flavours have the same
        return _fetch()


def tarball() -> Path:
    """The source as a tarball: the user's (VLWP_QEMU_TARBALL), or the archive's."""
    given = os.environ.get(TARBALL)
    with build_lock("qemu-source"):
        return Path(given) if given else _download()


def _download() -> Path:
    """The tarball of the archive, which has a name with the version."""
    have = [p for p in DL.glob("qemu_*.orig.tar.xz") if bases.qemu_base().serves("1:" + p.name.removeprefix("qemu_"))]
    if have and stamped(bases.of_qemu("qemu-source")) in ("", bases.qemu_base().version):
        return max(have, key=lambda p: p.stat().st_mtime)
    version, digest = wanted_version(), bases.qemu_base().sha256
    try:
        if digest:
            return archive.pooled("qemu", archive.upstream(version), digest)
        archive.source_package(f"qemu={version}")
    except Died as err:
        raise Died(f"{err}: {_helps()}") from err
    return DL / f"qemu_{archive.upstream(version)}.orig.tar.xz"


def _unpacked(place: Path, series: str) -> Path:
    """A folder that has QEMU's source already."""
    try:
        version = (place / "VERSION").read_text(encoding="utf-8").strip()
    except OSError as err:
        raise Died(f"{place}: this is no source of QEMU: {err.strerror}: VERSION") from err
    if not version.startswith(f"{series}."):
        raise Died(f"{place}: the base is QEMU {series}.x, this is {version}")
    return place


def _version(source: Path, series: str) -> str:
    """The version in the name of a tarball, which must be there, and one of the base."""
    wanted = f"the base is QEMU {series}.x, the name must be qemu-{series}.N.tar.xz"
    return archive.given_version(source, rf"qemu[-_]({re.escape(series)}\.\d+)", wanted)


def check_given() -> None:
    """Refuse a tarball of the user's (VLWP_QEMU_TARBALL) that cannot be one, before anything waits or is built."""
    given = os.environ.get(TARBALL)
    if given and not Path(given).is_dir():
        _version(Path(given), bases.qemu_base().series)


def _fetch() -> Path:
    series = bases.qemu_base().series
    make_dir(SRC)
    given = os.environ.get(TARBALL)
    if given and Path(given).is_dir():
        return _unpacked(Path(given), series)
    if given:
        source, name = Path(given), "upstream"
    else:
        found = [p for p in SRC.glob(f"qemu-{series}.*") if p.suffix != ".new"]
        if found and stamped(bases.of_qemu("qemu-source")) in ("", bases.qemu_base().version):
            return max(found, key=lambda p: int(p.name.rpartition(".")[2]))
        source, name = _download(), "qemu"
    place = SRC / f"{name}-{_version(source, series)}"
    if not place.is_dir():
        step(f"unpacking {source.name}", "qemu-unpack", lambda log: archive.unpack(source, place), about=15)
    if not given:
        stamp(bases.of_qemu("qemu-source"), bases.qemu_base().version)
    return place


def own(series: str = "") -> Path | None:
    """What a base (the chosen one) has for itself: differences from the default base's patches, and new files. None: it
    is the default base."""
    series = series or bases.qemu_base().series
    return None if series == bases.default("qemu") else PATCHES / "bases" / series


def folders(series: str = "") -> tuple[Folder, ...]:
    """The folders of patches of a base (the chosen one), each on what is before it."""
    names = {PACKAGING: PATCHES / PACKAGING, **{name: PATCHES / "patches" / name for name in (*SERIES, LAB)}}
    mine = own(series)
    return tuple(Folder(name, place, mine and mine / name) for name, place in names.items())


def folder(name: str) -> Folder:
    """One of SERIES, PACKAGING or LAB for the chosen base."""
    return next(folder for folder in folders() if folder.name == name)


def series(name: str) -> list[Path]:
    """Its patches, in order."""
    return folder(name).files(BUILD / "patches" / f"qemu-{bases.qemu_base().series}")


def patches(flavour: str) -> list[Path]:
    """The patches of a flavour, in order."""
    folders = [PACKAGING] if flavour == "base" else [PACKAGING, *SERIES]
    folders += [LAB] if flavour == CET else []
    return [patch for folder in folders for patch in series(folder)]


def changed_files(patch: Path) -> list[str]:
    """The existing files that a patch changes."""
    return re.findall(r"^--- a/([^\t\n]*)", patch.read_text(encoding="utf-8"), re.MULTILINE)


def new_files() -> dict[str, Path]:
    """What exists upstream nowhere, by its place there: the shared sources, in a library, and QEMU's own part."""
    shared = [file for folder in ("vmcb", "kvm/engine", "kvm/engine/tcg") for file in (TOP / folder).glob("lwp_*.[ch]")]
    found = {f"{LIBRARY}/{file.name}": file for file in shared}
    found |= {f"{COUNT}/{file.name}": file for file in (TOP / "kvm/engine/tcg").glob("x86_*.[ch]")}
    found |= {f"{NEW['pmu']}/{file.name}": file for file in (TOP / "kvm/engine").glob("pmc_*.[ch]")}
    for top in filter(None, (PATCHES, own())):
        for folder, place in NEW.items():
            found |= {f"{place}/{name}": top / folder / name for name in overlay.names(top / folder)}
    return found


def staged(flavour: str, pristine: Path, stage: Path, log: IO[str]) -> None:
    """Only the files in which the flavour differs from the pristine source."""
    shutil.rmtree(stage, ignore_errors=True)
    for target in ("x86_64", "i386"):
        shutil.copytree(PATCHES / "configs", stage / f"configs/devices/{target}-softmmu")
    if flavour != "base":
        for name, file in new_files().items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, stage / name)
    apply(patches(flavour), pristine, stage, log)


def apply(series_of: list[Path], pristine: Path, stage: Path, log: IO[str]) -> None:
    """Put what patches make of the files of a pristine source into a folder, without fuzz."""
    for patch in series_of:
        for name in changed_files(patch):
            if (pristine / name).is_file() and not (stage / name).exists():
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pristine / name, stage / name)
        print(patch.name, file=log, flush=True)
        with patch.open("rb") as text:
            options = ["-p1", "--fuzz=0", "--force", "--no-backup-if-mismatch"]
            if proc.logged(["patch", "-d", stage, *options], log, stdin=text):
                raise Died(f"{patch.name} does not apply to {pristine.name}")


def sync(flavour: str, pristine: Path, tree: Path) -> None:
    """Make a tree the pristine source plus the files in which a flavour differs from it. What somebody has changed in
    it is an error; but mutants may be left in those of MUTANTS."""
    what = bases.of_qemu(flavour)
    stage, listing = SRC / f"stage-{what}", SRC / f"stage-{what}.list"
    step(
        f"applying the patches of QEMU ({what})",
        f"qemu-{what}-patches",
        lambda log: staged(flavour, pristine, stage, log),
    )
    patched = "" if flavour in MUTANTS else f"qemu-{bases.qemu_base().series}"
    if not fresh(f"tree-{what}", str(pristine)) or not tree.is_dir():
        if patched and tree.is_dir():
            overlay.check_whole(listing, Path(stamped(f"tree-{what}")), tree, patched)
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(pristine, tree, symlinks=True)
        listing.unlink(missing_ok=True)
    overlay.lay_over(stage, listing, pristine, tree, patched)
    stamp(f"tree-{what}", str(pristine))
