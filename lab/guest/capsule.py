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
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from lab.common.places import LWPRUN
from lab.common.say import Died

HEAD, INPUT, TOOLS, ROOT = "capsule.json", "input", "tools", "root"
TOP = (HEAD, INPUT, TOOLS, ROOT)
LIBRARY = LWPRUN.with_name("liblwprun.so")
MAX_HEAD = 4 << 20  # bytes
MAX_MEMBERS = 1 << 18
MAX_BYTES = 640 << 20  # of all files: they are in the guest's memory twice while it unpacks them
SET_ID = stat.S_ISUID | stat.S_ISGID
MAX_MODE = 0o1777
OURS = ("dev", "proc", "run", "sys")  # directories of the root with nothing of the host's


@dataclass(frozen=True)
class Head:
    """What is run, and how."""

    command: list[str]
    environment: dict[str, str]
    directory: str


def _add(tar: tarfile.TarFile, path: Path, name: PurePosixPath) -> int:
    """A file, directory or link under a name; nothing else. Result: its bytes."""
    status, info = path.lstat(), tarfile.TarInfo(str(name))
    info.mode, info.mtime = stat.S_IMODE(status.st_mode) & ~SET_ID, int(status.st_mtime)
    if stat.S_ISREG(status.st_mode):
        with path.open("rb") as file:
            info.size = status.st_size
            tar.addfile(info, file)
    elif stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    elif stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
        tar.addfile(info)
    return info.size


def write(file: Path, head: Head, given: Path | None, paths: Iterable[Path], root: Path) -> None:
    """Keep our tools, the standard input, these of the root's files, and the directories that they are in."""
    wanted = {place for path in paths for place in (path, *path.parents) if place == root or root in place.parents}
    ours = tuple(root / name for name in OURS)
    total = 0
    with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as tar:
        text = json.dumps(asdict(head), indent=1).encode()
        info = tarfile.TarInfo(HEAD)
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
        for path, name in ((LWPRUN.parent, TOOLS), (LWPRUN, f"{TOOLS}/lwprun"), (LIBRARY, f"{TOOLS}/{LIBRARY.name}")):
            _add(tar, path, PurePosixPath(name))
        if given:
            _add(tar, given, PurePosixPath(INPUT))
        for path in sorted(wanted):
            try:
                kept = not any(place in path.parents for place in ours)
                total += _add(tar, path, PurePosixPath(ROOT, path.relative_to(root))) if kept else 0
            except OSError as err:
                raise Died(f"{path}: cannot keep this file of the program: {err.strerror}") from err
            if total > MAX_BYTES:
                raise Died(f"{path}: with it the program's files are more than {MAX_BYTES >> 20} MiB")


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


def walked(log: Path, root: Path) -> set[Path]:
    """Every file that a guest has asked for over 9p, and that is there, by QEMU's trace events v9fs_walk."""
    places: dict[str, Path] = {}
    found = set()
    for line in log.read_text(encoding="utf-8", errors="surrogateescape").splitlines() if log.is_file() else ():
        if match := WALK.fullmatch(line):
            fid, new, count, names = match.groups()
            place = places.get(fid, root)
            for name in filter(None, [names] if count == "1" else names.split(", ")):
                place /= name
                if os.path.lexists(place):
                    found.add(place)
            places[new] = place
    return found
