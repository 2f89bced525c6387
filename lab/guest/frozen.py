# SPDX-License-Identifier: GPL-2.0-or-later
"""Run one command on the machine that runs the same twice (lab/guest/count1.py): with the files of a capsule, or with
those that a first run over 9p asks for. These are kept, as an image for the guest, until one of them changes."""

import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from lab.common import places, proc
from lab.common.say import Died, say
from lab.guest import capsule, count1, snapshot
from lab.guest.erofs import Image
from lab.guest.files import keep_input
from lab.guest.vm import GUEST_SHARE, HOST_ROOT, vmrun, vmrun_alone


def with_tools(run: Path) -> Path:
    """An initramfs with lwprun, for a guest whose files do not have it."""
    tools = run / "tools"
    for member in capsule.tools():
        place = tools / "request" / member.info.name
        place.mkdir(parents=True) if member.info.isdir() else place.write_bytes(member.path.read_bytes())
    count1.initrd(run / "initrd", places.GUEST / "initramfs", tools)
    return run / "initrd"


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


def _made(members: Iterable[tuple[Any, Any]], run: Path) -> tuple[Path, str]:
    return run / "files", _image(members, count1.FILES, run / "files")


def of_capsule(file: Path, run: Path) -> count1.Program:
    """The program that a capsule has."""
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
        return count1.Program(content.head, given, *_made(members, run))


def note(
    one: count1.Count1, root: Path, run: Path, head: capsule.Head, command: Sequence[str]
) -> capsule.Walked:
    """Run a command over 9p, and see which files it asks for."""
    if one.whole:
        return capsule.Walked(set(root.rglob("*")))
    say(f"{count1.NAME}: the program runs twice, the first time over 9p, which notes its files ...")
    place = Path(tempfile.mkdtemp(prefix="noted.", dir=run))
    share = place / "share"
    share.mkdir()
    with_tools(place)
    shared = f"local,path={share},mount_tag=share,security_model=none,multidevs=remap"
    emulator = [str(places.qemu()), *count1.booted(place, root), "-virtfs", shared]
    words = vmrun(place, emulator, command, f"--cwd={head.directory}", root=root)
    variables = [f"{name}={value}" for name, value in head.environment.items()]
    given = run / capsule.INPUT
    with (given if given.is_file() else Path(os.devnull)).open("rb") as source:
        proc.call(["env", "-i", *variables, *words], stdin=source, stdout=DEVNULL, stderr=DEVNULL)
    found = capsule.walked(place / "walks", root)
    if not found.found:
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
    one: count1.Count1, root: Path, run: Path, command: Sequence[str], words: Sequence[str]
) -> count1.Program:
    """A program of this machine, or of a root; the command is what runs it."""
    head, given = head_of(one, root, words), _given(run)
    walked = note(one, root, run, head, command)
    members = ((member.info, member.data) for member in capsule.sources(walked.found, root))
    return count1.Program(head, given, *_made(members, run))


def keep(one: count1.Count1, root: Path, run: Path, command: Sequence[str], words: Sequence[str]) -> Path:
    """Make the capsule of a program."""
    head, given, file = head_of(one, root, words), _given(run), run / "capsule.tar"
    capsule.write(file, head, given, note(one, root, run, head, command).found, root)
    return file


def _request(one: count1.Count1, asked: bytes, given: Path | None, to: Path) -> str:
    """The image with what the guest is asked for. Result: its hash."""
    info = tarfile.TarInfo("request")
    info.size = len(asked)
    members = (*capsule.given_source(given), *capsule.tools())
    found = [(member.info, member.data) for member in members]
    return _image([(info, lambda: io.BytesIO(asked)), *found], count1.REQUEST, to)


def boot(
    one: count1.Count1, run: Path, command: Sequence[str], *options: str, passes: bool = False,
    **stdio: Any,
) -> tuple[int, int]:
    """Start from the snapshot, with the files of the machine's program; more options of vmrun. Result: the command's
    exit status, and the signal that was passed to it."""
    machine = snapshot.ensure()
    one.program = one.program or of_capsule(one.file or Path(), run)
    variables = {**one.program.head.environment, "VLWP_SHARE": GUEST_SHARE}
    asked = count1.request(one.seed, command, variables, one.program.head.directory)
    request = run / "request"
    hashes = one.program.hash + _request(one, asked, one.program.given, request)
    files = hashlib.sha256(hashes.encode()).hexdigest()[:12]
    one.name = f"{count1.NAME}-local {machine.hash}, seed {one.seed}, files {files}"
    memory = f"{machine.memory},readonly=on,rom=off"
    if one.memory:
        proc.output(["cp", "--sparse=always", machine.memory, one.memory])
        memory = f"{one.memory},share=on"
    emulator = [str(places.qemu()), *count1.frozen(run, memory, one.program.image, request, one), "-incoming", "defer"]
    line = vmrun_alone(run, emulator, f"--restore={machine.state}", *options)
    if passes:
        return proc.call_passing([line[0], "--pass-signals", *line[1:]], **stdio)
    return proc.call(line, **stdio), 0
