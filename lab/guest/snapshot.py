# SPDX-License-Identifier: GPL-2.0-or-later
"""count-1 as it is when it has booted and stopped itself: its memory is a file, QEMU's state another. Every run begins
there, with a private view of the memory. It is made once, and again when what it is made of has changed or it is
damaged."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.common import places, proc
from lab.common.qmp import Vm
from lab.common.say import Died, say
from lab.common.steps import build_lock, made_whole
from lab.guest import count1

PLACE = places.BUILD / "count-1"
MEMORY, STATE, NOTE = "memory", "state", "snapshot.json"
PAGE, BLOCK = 4096, 1 << 20
KEPT = 3  # of other QEMUs and kernels, too
# In the state: the host's clocks, from which this machine has no time; each after its 8 bytes (QEMU's vmstate_timers).
CLOCKS, AFTER = b"\x05timer" + bytes(7) + b"\x02", (0, 16)
STOPPED = "GUEST_PANICKED"  # which pvpanic tells
DEVICES = (
    "-chardev", "null,id=vlwp", "-chardev", "null,id=control", "-device", "virtio-serial-pci,ioeventfd=off",
    "-device", "virtserialport,chardev=vlwp,name=vlwp", "-device", "virtserialport,chardev=control,name=vlwp-control",
)  # as vmrun has them


@dataclass(frozen=True)
class Snapshot:
    """One that is whole."""

    place: Path
    hash: str

    @property
    def memory(self) -> Path:
        return self.place / MEMORY

    @property
    def state(self) -> Path:
        return self.place / STATE


def data_of(file: Path) -> Iterator[tuple[int, bytes]]:
    """What a file with holes has, in blocks."""
    with file.open("rb") as source:
        at, size = 0, source.seek(0, os.SEEK_END)
        while at < size:
            try:
                at = os.lseek(source.fileno(), at, os.SEEK_DATA) & -BLOCK
            except OSError:  # a hole up to the end
                return
            yield at, os.pread(source.fileno(), BLOCK, at)
            at += BLOCK


def hash_of_memory(file: Path) -> str:
    """Of each page that is not zero, with its address: what the snapshot is called by."""
    digest, empty = hashlib.sha256(), bytes(PAGE)
    for at, block in data_of(file):
        for start in range(0, len(block), PAGE):
            page = block[start:start + PAGE]
            if page != empty:
                digest.update((at + start).to_bytes(8, "little") + page)
    return digest.hexdigest()[:12]


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _stamps(*files: Path) -> list[list[int]]:
    """What changes when somebody writes them."""
    return [[status.st_size, status.st_mtime_ns, status.st_ino] for status in map(os.stat, files)]


def _made_of() -> str:
    """What a snapshot is made of: the arguments, the emulator, and the files that it boots."""
    tree = places.GUEST / count1.TREE
    files = [places.qemu(), places.GUEST / "vmlinux", *sorted(path for path in tree.rglob("*") if path.is_file())]
    files += [places.FIRMWARE / name for name in count1.FIRMWARE]
    words = count1.frozen(Path("/"), "", Path("/"), Path("/"), count1.Count1())
    text = json.dumps([words, DEVICES, AFTER, count1.FROZEN_ARGS, [str(file) for file in files], _stamps(*files)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _read(place: Path) -> Snapshot | None:
    """The snapshot, if nobody has changed it; or if what was touched is what it was."""
    try:
        note = json.loads((place / NOTE).read_text(encoding="ascii"))
        found, files = Snapshot(place, note["hash"]), (place / MEMORY, place / STATE)
        stamps = _stamps(*files)
        if note["stamps"] != stamps:
            if hash_of_memory(files[0]) != found.hash or _hash(files[1]) != note["state"]:
                return None
            _write(place, {**note, "stamps": stamps})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


def _write(place: Path, note: dict[str, object]) -> None:
    new = place / f"{NOTE}.new"
    new.write_text(json.dumps(note), encoding="ascii")
    new.rename(place / NOTE)


def _save(new: Path) -> None:
    """Boot the machine, without files, and save it when it has stopped itself."""
    for name, size in ((MEMORY, count1.MEMORY), ("files", count1.FILES), ("request", count1.REQUEST)):
        with (new / name).open("wb") as file:
            file.truncate(size << 20)
    words = count1.frozen(new, f"{new / MEMORY},share=on", new / "files", new / "request", count1.Count1())
    count1.initrd(new / "initrd", places.GUEST / count1.TREE)
    booted: list[proc.Word] = ["-kernel", places.GUEST / "vmlinux", "-initrd", new / "initrd"]
    words = [str(places.qemu()), *words, *DEVICES, "-action", "panic=pause"]
    with Vm([*words, *booted, "-append", count1.FROZEN_ARGS], new / "log") as vm:
        if vm.event(STOPPED, "SHUTDOWN")["event"] != STOPPED:
            raise Died(f"{count1.NAME} does not come up: {(new / 'console').read_text(errors='replace')[-1000:]}")
        vm.do("migrate-set-capabilities", capabilities=[
            {"capability": name, "state": True} for name in ("x-ignore-shared", "events")
        ])
        vm.do("migrate", uri=f"file:{new / STATE}")
        if not vm.migrated():
            raise Died(f"{count1.NAME} cannot be saved: {vm.do('query-migrate').get('error-desc')}")
    state = bytearray((new / STATE).read_bytes())
    for at in (state.index(CLOCKS) + len(CLOCKS) + after for after in AFTER):
        state[at:at + 8] = bytes(8)
    (new / STATE).write_bytes(state)  # the same from each boot
    (new / STATE).chmod(0o644)  # another user may count, too
    for name in ("files", "request", "initrd", "log", "console"):
        (new / name).unlink()


def ensure() -> Snapshot:
    """The machine of this kernel, firmware and QEMU. A release has just one."""
    if places.RELEASE:
        only = next(PLACE.glob(f"*/{NOTE}"))
        return Snapshot(only.parent, json.loads(only.read_text(encoding="ascii"))["hash"])
    place = PLACE / _made_of()
    found = _read(place)
    if found:
        return found
    with build_lock("count-1"):
        found = _read(place)
        if found:
            return found
        say(f"{count1.NAME}: booting it once, to start from there ...")
        shutil.rmtree(place, ignore_errors=True)
        for old in sorted(PLACE.glob(f"*/{NOTE}"), key=lambda path: path.stat().st_mtime)[:1 - KEPT]:
            shutil.rmtree(old.parent, ignore_errors=True)
        with made_whole(place) as new:
            _save(new)
            note = {"hash": hash_of_memory(new / MEMORY), "state": _hash(new / STATE)}
            _write(new, {**note, "stamps": _stamps(new / MEMORY, new / STATE)})
        found = _read(place)
        assert found
    return found
