# SPDX-License-Identifier: GPL-2.0-or-later
"""A capsule: a program's files, command, environment and directory in one tar file, for a machine whose files are in
RAM (lab/guest/count1.py). Whoever reads one has it from a stranger."""

import hashlib
import io
import json
import os
import re
import stat
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from lab.common.places import LWPRUN
from lab.common.say import Died

HEAD, INPUT, TOOLS, ROOT = "capsule.json", "input", "tools", "root"
TOP = (HEAD, INPUT, TOOLS, ROOT)
LIBRARY = LWPRUN.with_name("liblwprun.so")
MAX_HEAD = 4 << 20  # bytes
MAX_MEMBERS = 1 << 18
MAX_BYTES = 832 << 20  # of all files: they fill whole pages of the machine's region for them
SET_ID = stat.S_ISUID | stat.S_ISGID
MAX_MODE = 0o1777
OURS = ("dev", "proc", "run", "sys")  # directories of the root with nothing of the host's


@dataclass(frozen=True)
class Head:
    """What is run, and how."""

    command: list[str]
    environment: dict[str, str]
    directory: str


@dataclass(frozen=True)
class Source:
    """A member that is made of a file here."""

    info: tarfile.TarInfo
    path: Path

    def data(self) -> IO[bytes]:
        """Its content."""
        return self.path.open("rb") if self.info.isreg() else io.BytesIO()


def source(path: Path, name: str) -> Source | None:
    """A file, directory or link under a name; None: it is something else. Everything is of root's, and a directory has
    no time: whoever makes a file beside it changes that."""
    status, info = path.lstat(), tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(status.st_mode) & ~SET_ID
    if stat.S_ISREG(status.st_mode):
        info.size, info.mtime = status.st_size, int(status.st_mtime)
    elif stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
    else:
        return None
    return Source(info, path)


def tools() -> Iterator[Source]:
    """lwprun and its library."""
    for path, name in ((LWPRUN.parent, TOOLS), (LWPRUN, f"{TOOLS}/lwprun"), (LIBRARY, f"{TOOLS}/{LIBRARY.name}")):
        found = source(path, name)
        assert found
        yield found


def given_source(given: Path | None) -> list[Source]:
    """The standard input, if there is one."""
    if not given:
        return []
    info = tarfile.TarInfo(INPUT)
    info.size = given.stat().st_size
    return [Source(info, given)]


def sources(paths: Iterable[Path], root: Path, below: str = "") -> Iterator[Source]:
    """These of the root's files, and the directories that they are in, each after its own; below: a name for the root,
    which comes first."""
    wanted = {place for path in paths for place in (path, *path.parents) if place == root or root in place.parents}
    ours = tuple(root / name for name in OURS)
    total = 0
    for path in sorted(wanted):
        if any(place in path.parents for place in ours) or path == root and not below:
            continue
        try:
            found = source(path, str(PurePosixPath(below, path.relative_to(root))))
        except OSError as err:
            raise Died(f"{path}: cannot keep this file of the program: {err.strerror}") from err
        if found:
            total += found.info.size
            yield found
        if total > MAX_BYTES:
            raise Died(f"{path}: with it the program's files are more than {MAX_BYTES >> 20} MiB")


def write(file: Path, head: Head, given: Path | None, paths: Iterable[Path], root: Path) -> None:
    """Keep our tools, the standard input, these of the root's files, and the directories that they are in."""
    text = json.dumps(asdict(head), indent=1).encode()
    info = tarfile.TarInfo(HEAD)
    info.size = len(text)
    with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(info, io.BytesIO(text))
        for member in (*tools(), *given_source(given), *sources(paths, root, ROOT)):
            with member.data() as data:
                tar.addfile(member.info, data)


def _refusal(info: tarfile.TarInfo, seen: dict[str, tarfile.TarInfo]) -> str:
    """What is wrong with a member; "": nothing."""
    path = PurePosixPath(info.name)
    if path.is_absolute() or ".." in path.parts or str(path) != info.name or path.parts[0] not in TOP:
        return "this path lies outside of it"
    if not (info.isreg() or info.isdir() or info.issym()):
        return "this is no file, directory or symbolic link"
    if info.mode & SET_ID:
        return "this file is set-user-ID or set-group-ID"
    if not (0 <= info.mode <= MAX_MODE and 0 <= info.mtime < 1 << 32 and info.size >= 0):
        return "its mode, time or size is no number of a file's"
    parent = seen.get(str(path.parent))
    if info.name in seen or len(path.parts) > 1 and not (parent and parent.isdir()):
        return "this path is there twice, or its directory is not"
    if len(path.parts) == 1 and info.isdir() != (info.name in (TOOLS, ROOT)):
        return f"{HEAD} and {INPUT} are files, {TOOLS} and {ROOT} are directories"
    return ""


def _head(tar: tarfile.TarFile, info: tarfile.TarInfo | None) -> Head:
    data = tar.extractfile(info) if info and info.name == HEAD and info.size <= MAX_HEAD else None
    try:
        found = json.loads(data.read()) if data else {}
        head = Head(**found)
        texts = [*head.command, *head.environment, *head.environment.values(), head.directory]
    except (ValueError, TypeError, AttributeError, RecursionError) as err:
        raise tarfile.TarError(f"{HEAD}: {err}") from err
    if not data or not head.command or not all(isinstance(text, str) and "\0" not in text for text in texts):
        raise tarfile.TarError(f"{HEAD} does not have command, environment and directory as strings")
    return head


@dataclass(frozen=True)
class Capsule:
    """One that was read and is well formed."""

    head: Head
    members: list[tarfile.TarInfo]  # without the head; a directory comes before what it has
    tar: tarfile.TarFile

    def data(self, info: tarfile.TarInfo) -> IO[bytes]:
        """The content of a file."""
        file = self.tar.extractfile(info)
        assert file
        return file


@contextmanager
def opened(file: Path) -> Iterator[Capsule]:
    """Read a capsule. Whatever is wrong with it is one line."""
    try:
        source = file.open("rb")
    except OSError as err:
        raise Died(f"{file}: cannot read this file: {err.strerror}") from err
    try:
        with source, tarfile.open(fileobj=source, mode="r:") as tar:
            seen: dict[str, tarfile.TarInfo] = {}
            total = 0
            for info in tar:
                why, total = _refusal(info, seen), total + info.size
                if total > MAX_BYTES or len(seen) == MAX_MEMBERS:
                    why = f"it has more than {MAX_BYTES >> 20} MiB or {MAX_MEMBERS} files"
                if why:
                    raise tarfile.TarError(f"{info.name!a}: {why}")
                seen[info.name] = info
            source.seek(tar.offset)
            if source.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise tarfile.TarError("it is cut off, or damaged")
            members = list(seen.values())
            yield Capsule(_head(tar, members[0] if members else None), members[1:], tar)
    except (tarfile.TarError, UnicodeError, RecursionError) as err:
        raise Died(f"{file}: no capsule of ./vlwp freeze: {err}") from err


def hash_of(file: Path) -> str:
    """Of all of it."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()[:12]


WALK = re.compile(r"v9fs_walk tag=\d+ id=\d+ fid=(\d+) newfid=(\d+) nwnames=(\d+) wnames=\{(.*)\}")
LIST = re.compile(r"v9fs_readdir tag \d+ id \d+ fid (\d+) ")


@dataclass
class Walked:
    """What a guest has asked for over 9p: what is there, what is not, and the directories that it has listed."""

    found: set[Path] = field(default_factory=set)
    missing: set[Path] = field(default_factory=set)
    listed: set[Path] = field(default_factory=set)


def walked(log: Path, root: Path) -> Walked:
    """By QEMU's trace events of 9p."""
    places: dict[str, Path] = {}
    result = Walked()
    for line in log.read_text(encoding="utf-8", errors="surrogateescape").splitlines() if log.is_file() else ():
        if match := WALK.fullmatch(line):
            fid, new, count, names = match.groups()
            place = places.get(fid, root)
            for name in filter(None, [names] if count == "1" else names.split(", ")):
                place /= name
                (result.found if os.path.lexists(place) else result.missing).add(place)
            places[new] = place
        elif match := LIST.match(line):
            result.listed.add(places.get(match[1], root))
    return result
