# SPDX-License-Identifier: GPL-2.0-or-later
"""Run one command on the machine that runs the same twice (lab/guest/count1.py): with the files of a capsule, or with
those that a first run over 9p asks for. These are kept, as an image for the guest, until one of them changes."""

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from lab.common import places, proc
from lab.common.say import Died, say
from lab.common.steps import make_dir
from lab.guest import capsule, count1, snapshot
from lab.guest.erofs import Image
from lab.guest.files import keep_input
from lab.guest.vm import GUEST_SHARE, HOST_ROOT, shared, vmrun, vmrun_alone

IMAGES, NOTES = (places.KEPT / count1.NAME / name for name in ("images", "notes"))
KEPT = 4 << 30  # bytes of images


def with_tools(run: Path) -> Path:
    """An initramfs with lwprun, for a guest whose files do not have it."""
    tools = run / "tools"
    for member in capsule.tools():
        place = tools / "request" / member.info.name
        place.mkdir(parents=True) if member.info.isdir() else place.write_bytes(member.path.read_bytes())
    count1.initrd(run / "initrd", places.GUEST / "initramfs", tools)
    return run / "initrd"


def _forget() -> None:
    """The images that were not used for longest go."""
    total = 0
    for path in sorted(IMAGES.iterdir(), key=lambda path: path.stat().st_atime, reverse=True):
        total += path.stat().st_blocks * 512
        if total > KEPT:
            path.unlink(missing_ok=True)


def _image(members: Iterable[tuple[Any, Any]], size: int, to: Path) -> str:
    """Write an image of so many MiB. Result: the hash of what it has."""
    image = Image()
    for info, opened in members:
        image.add(info, opened)
    with to.open("w+b") as out:
        image.write(out)
        used = out.tell()
        if used > size << 20:
            raise Died(f"the program's files fill {used >> 20} MiB; there is room for {size}")
        out.seek(0)
        found = hashlib.file_digest(out, "sha256").hexdigest()
        out.truncate(size << 20)
    return found


def _kept(members: Iterable[tuple[Any, Any]]) -> tuple[Path, str]:
    """The image of these, among those that are kept, and its hash."""
    new = IMAGES / f"new-{os.getpid()}"
    try:
        found = _image(members, count1.FILES, new)
        os.replace(new, IMAGES / found[:32])
    finally:
        new.unlink(missing_ok=True)
    _forget()
    return IMAGES / found[:32], found


def of_capsule(file: Path, run: Path) -> count1.Program:
    """The program that a capsule has."""
    make_dir(IMAGES, NOTES)
    with capsule.opened(file) as content:
        below, given = f"{capsule.ROOT}/", None
        members = []
        for info in content.members:
            if info.name == capsule.INPUT:
                given = run / capsule.INPUT
                given.write_bytes(content.data(info).read())
            elif info.name.startswith(below):
                name = info.name
                info.name = name[len(below):]
                members.append((info, lambda info=info: content.data(info)))
        return count1.Program(content.head, given, *_kept(members))


def _stamp(path: Path, listed: bool = False) -> list[Any]:
    """What changes when a file does; of a directory only if its names were asked for."""
    status = path.lstat()
    times = [] if path.is_dir() and not path.is_symlink() and not listed else [status.st_mtime_ns, status.st_size]
    return [status.st_mode, *times]


def _known(note: Path) -> tuple[Path, str] | None:
    """The image of a program's files, if it is whole and none of them has changed."""
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
        image = Path(known["image"])
        if [image.stat().st_size, image.stat().st_mtime_ns] != known["stamp"]:
            return None
        if any(_stamp(Path(path)) != stamp for path, stamp in known["found"].items()):
            return None
        if any(_stamp(Path(path), True) != stamp for path, stamp in known["listed"].items()):
            return None
        if any(os.path.lexists(path) for path in known["missing"]):
            return None
        os.utime(image, ns=(os.stat(note).st_atime_ns, known["stamp"][1]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return image, known["hash"]


@dataclass
class Noting:
    """How a program runs over 9p: what is counted of it, whether it gets the first signal, what Popen takes. Then the
    signal that it got, and its exit status."""

    events: Sequence[str] = ()
    passes: bool = False
    stdio: dict[str, Any] = field(default_factory=lambda: {"stdout": DEVNULL, "stderr": DEVNULL})
    passed: int = 0
    status: int = 0
    counts: Path | None = None  # the file with what was counted


def note(
    one: count1.Count1, root: Path, run: Path, head: capsule.Head, command: Sequence[str], how: Noting
) -> capsule.Walked:
    """Run a command over 9p, and see which files it asks for."""
    if one.whole:
        return capsule.Walked(set(root.rglob("*")))
    say(f"{count1.NAME}: the program runs twice, the first time over 9p, which notes its files ...")
    place = Path(tempfile.mkdtemp(prefix="noted.", dir=run))
    share = place / "share"
    share.mkdir()
    with_tools(place)
    emulator = [str(places.qemu()), *count1.booted(place, root), *shared("share", share)]
    options = [f"--cwd={head.directory}", *([f"--count={','.join(how.events)}"] if how.events else [])]
    options += ["--pass-signals"] if how.passes else []
    words = vmrun(place, emulator, command, *options, root=root, modules=False)  # which lie elsewhere in each tree
    variables = [f"{name}={value}" for name, value in head.environment.items()]
    given = run / capsule.INPUT
    with (given if given.is_file() else Path(os.devnull)).open("rb") as source:
        line = ["env", "-i", *variables, *words]
        if how.passes:
            how.status, how.passed = proc.call_passing(line, stdin=source, **how.stdio)
        else:
            how.status = proc.call(line, stdin=source, **how.stdio)
    how.counts = share / "counts"
    found = capsule.walked(place / "walks", root)
    if not found.found and not how.passed:
        raise Died("the run that notes files has noted none: QEMU has no trace events, or the guest did not start")
    found.found.add(root / head.directory.lstrip("/"))
    return found


def head_of(one: count1.Count1, root: Path, words: Sequence[str]) -> capsule.Head:
    """What is run, and where."""
    where = Path(os.getcwd()) if root == HOST_ROOT else root
    return capsule.Head(list(words), {**count1.ENVIRONMENT, **one.variables}, f"/{where.relative_to(root)}")


def _given(run: Path) -> Path | None:
    """The file with the standard input, which is read once."""
    kept = run / capsule.INPUT
    return kept if kept.is_file() else keep_input(kept)


def program(
    one: count1.Count1, root: Path, run: Path, command: Sequence[str], words: Sequence[str],
    how: Noting | None = None,
) -> count1.Program | None:
    """A program of this machine, or of a root; the command is what runs it. None: a signal has ended it while its files
    were noted."""
    make_dir(IMAGES, NOTES)
    how = how or Noting()
    head, given = head_of(one, root, words), _given(run)
    said = hashlib.sha256(given.read_bytes()).hexdigest() if given else ""
    asked = json.dumps([asdict(head), list(command), str(root), one.whole, said])
    kept = NOTES / hashlib.sha256(asked.encode()).hexdigest()[:32]
    known = None if one.whole else _known(kept)
    if not known:
        walked = note(one, root, run, head, command, how)
        if how.passed:
            return None
        known = _kept((member.info, member.data) for member in capsule.sources(walked.found, root))
        _remember(kept, walked, *known)
    return count1.Program(head, given, *known)


def _remember(kept: Path, walked: capsule.Walked, image: Path, found: str) -> None:
    status = image.stat()
    text = json.dumps({
        "image": str(image), "hash": found, "stamp": [status.st_size, status.st_mtime_ns],
        "found": {str(path): _stamp(path) for path in walked.found if os.path.lexists(path)},
        "listed": {str(path): _stamp(path, True) for path in walked.listed if os.path.lexists(path)},
        "missing": sorted(map(str, walked.missing)),
    })
    new = kept.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.rename(kept)


def keep(one: count1.Count1, root: Path, run: Path, command: Sequence[str], words: Sequence[str]) -> Path:
    """Make the capsule of a program."""
    head, given, file = head_of(one, root, words), _given(run), run / "capsule.tar"
    capsule.write(file, head, given, note(one, root, run, head, command, Noting()).found, root)
    return file


def _request(one: count1.Count1, asked: bytes, given: Path | None, tools: bool, to: Path) -> str:
    """The image with what the guest is asked for. Result: its hash."""
    info = tarfile.TarInfo("request")
    info.size = len(asked)
    members = (*capsule.given_source(given), *(capsule.tools() if tools else ()))
    found = [(member.info, member.data) for member in members]
    return _image([(info, lambda: io.BytesIO(asked)), *found], count1.REQUEST, to)


def boot(
    one: count1.Count1, run: Path, command: Sequence[str], *options: str, events: Sequence[str] = (),
    passes: bool = False, **stdio: Any,
) -> tuple[int, int]:
    """Start from the snapshot, with the files of the machine's program. Events are counted of it, in the file counts of
    the share; without events it has the tools and VLWP_SHARE. More options of vmrun. Result: the command's exit status,
    and the signal that was passed to it."""
    machine = snapshot.ensure()
    one.program = one.program or of_capsule(one.file or Path(), run)
    variables = one.program.head.environment | ({} if events else {"VLWP_SHARE": GUEST_SHARE})
    asked = count1.request(one.seed, command, variables, one.program.head.directory, events)
    request = run / "request"
    hashes = one.program.hash + _request(one, asked, one.program.given, not events, request)
    files = hashlib.sha256(hashes.encode()).hexdigest()[:12]
    one.name = f"{count1.NAME}{'' if places.RELEASE else '-local'} {machine.hash}, seed {one.seed}, files {files}"
    memory = f"{machine.memory},readonly=on,rom=off"
    if one.memory:
        proc.output(["cp", "--sparse=always", machine.memory, one.memory])
        memory = f"{one.memory},share=on"
    words = [*count1.frozen(run, memory, one.program.image, request, one), "-incoming", "defer"]
    state = one.state or machine.state
    line = vmrun_alone(run, [str(one.emulator or places.qemu()), *words], f"--restore={state}", *options)
    if passes:
        return proc.call_passing([line[0], "--pass-signals", *line[1:]], **stdio)
    return proc.call(line, **stdio), 0
