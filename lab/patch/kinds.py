# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp patch knows of each base: its folders of patches, its new files, and its source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path

from lab.building import libvirt, linux, qemu_tree
from lab.building.patches import Folder
from lab.building.qemu_tree import COMPAT
from lab.common import archive, bases, proc
from lab.common.places import BUILD, TOP
from lab.common.say import Usage
from lab.patch.repo import Repo


@dataclass(frozen=True)
class Series:
    """The patches of a base, in folders one after the other, and new files."""

    name: str
    folders: tuple[Folder, ...]
    pristine: Callable[[], Path]  # fetches the source of the chosen base
    release: Callable[[str], Path]  # fetches that of another release
    files: Callable[[Path], Mapping[str, Path]] = lambda _: {}  # of a source: new ones, and where they come from
    mine: Mapping[str, Path] = field(default_factory=dict)  # where those belong that bases have of their own
    homes: tuple[tuple[str, Path], ...] = ()  # where more new files of a folder belong
    others: tuple["Series", ...] = ()  # bases whose patches are written as differences from these

    @property
    def repo(self) -> Repo:
        """Where it is edited."""
        return Repo(BUILD / "edit" / self.name)

    @property
    def begun(self) -> bool:
        """Are there patches made for it? If not, its patches are the default base's, on the default base's source."""
        return any(not folder.own or folder.own.is_dir() for folder in self.folders)

    def sources(self, source: Path) -> str:
        """The digests of the files of this repository that are edited, a line each; source: the base's."""
        folders = [place for folder in self.folders for place in (folder.default, folder.own) if place]
        files = {*self.files(source).values(), *(file for place in folders for file in place.glob("*.*"))}
        lines = [f"{file} {sha256(file.read_bytes()).hexdigest()}\n" for file in sorted(files) if file.is_file()]
        return "".join(lines)

    def home(self, name: str) -> Path | None:
        """Where a new file belongs."""
        found = [(prefix, folder) for prefix, folder in self.homes if name.startswith(f"{prefix}/")]
        prefix, folder = max(found, default=("", TOP), key=lambda one: len(one[0]))
        return folder / name.removeprefix(f"{prefix}/") if prefix else None


SVM = "arch/x86/kvm/svm"
KINDS = ("linux", "qemu", "libvirt")


def names() -> list[str]:
    """All bases."""
    return [*bases.names(), *(f"libvirt-{series}" for series in bases.libvirts())]


def full_name(word: str) -> str:
    """A base as the user calls it: its name, or its kind, which means the default base."""
    name = f"{word}-{bases.default(word)}" if word in KINDS else word
    if name not in names():
        raise Usage(f"patch: no base '{word}'; there are: {' '.join((*KINDS, *names()))}")
    return name


def of(name: str) -> Series:
    """A base by its full name."""
    kind, _, series = name.partition("-")
    default = series == bases.default(kind)
    of_kind = [other.partition("-")[2] for other in names() if other.startswith(f"{kind}-")]
    others = [MAKERS[kind](other, ()) for other in of_kind if other != series] if default else []
    return MAKERS[kind](series, tuple(others))


def again(name: str, words: list[str]) -> int | None:
    """Carry a command out with a base as the chosen one. None: it is that already."""
    chosen = (f"linux-{bases.linux_base().series}", f"qemu-{bases.qemu_base().series}")
    if name in chosen or name.startswith("libvirt-"):
        return None
    return proc.call([TOP / "vlwp", "patch", *words], env={bases.CHOICE: name})


def _linux(series: str, others: tuple[Series, ...]) -> Series:
    return Series(
        f"linux-{series}", linux.folders(series), lambda: linux.fetch_series().pristine, linux.release, _linux_files,
        {f"{SVM}/lwp_compat.h": linux.compat(series)},
        ((SVM, TOP / "kvm/svm"), (f"{SVM}/lwp", TOP / "kvm/engine")), others,
    )


def _linux_files(source: Path) -> Mapping[str, Path]:
    tests = linux.selftest_folder(source).relative_to(source)
    glue = [*(TOP / "kvm/svm").glob("lwp*.[ch]"), linux.compat()]
    shared = [file for folder in ("vmcb", "kvm/engine") for file in (TOP / folder).glob("*_*.[ch]")]
    found = {f"{SVM}/{file.name}": file for file in glue} | {f"{SVM}/lwp/{file.name}": file for file in shared}
    found["arch/x86/include/uapi/asm/kvm_lwp.h"] = found.pop(f"{SVM}/lwp/lwp_kvm.h")
    return found | {f"{tests}/{file.name}": file for file in linux.selftest_files()}


def _qemu(series: str, others: tuple[Series, ...]) -> Series:
    homes = tuple((place, qemu_tree.PATCHES / folder) for folder, place in qemu_tree.NEW.items())
    own = qemu_tree.own(series)
    return Series(
        f"qemu-{series}", qemu_tree.folders(series), qemu_tree.fetch, partial(archive.release, "qemu"),
        lambda _: qemu_tree.new_files(), {f"target/i386/{COMPAT}": own / COMPAT} if own else {}, homes, others,
    )


def _libvirt(series: str, others: tuple[Series, ...]) -> Series:
    one, release = next(one for one in libvirt.known() if one.series == series), partial(archive.release, "libvirt")
    return Series(one.name, (one.folder,), lambda: libvirt.fetch(one), release, others=others)


MAKERS = {"linux": _linux, "qemu": _qemu, "libvirt": _libvirt}
