# SPDX-License-Identifier: GPL-2.0-or-later
"""Is a run on count-1 the same as another? What a program under lwprun and perf leaves: LWP's records, samples of a
counter's interrupts with the last branches, counts, output; and the guest's memory at some points."""

import hashlib
import socket
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

from lab.common import proc
from lab.common.places import HOST, TOP
from lab.common.qmp import PATIENCE, Stub
from lab.guest import count1, frozen, snapshot
from lab.guest.vm import HOST_ROOT
from lab.nested.machine import TOOLS_LWPRUN

POINTS = 20  # at which memory is compared at least
AFTERWARDS = "contexts-collected"  # contexts go also when the command has ended, until QEMU is asked
APART = 8  # ticks between two of the same second
LWP = (TOOLS_LWPRUN, "--quiet", "-o", "/run/vlwp/lwp.data", "--")
PERF = ("perf", "record", "-q", "-b", "-e", "instructions:u", "-c", "100003", "-o", "/run/vlwp/perf.data", "--")
BEGIN = "run_command"  # of the guest's init
EMPTY = zlib.crc32(bytes(snapshot.BLOCK))
ENDBR = 4  # bytes of the first instruction there
SECOND, TICK = "second_overflow", "asm_sysvec_apic_timer_interrupt"  # of Linux
TICK_GATE = 0xFFFFFE0000000000 + 0xEC * 16  # Linux' table of interrupts, its vector of the local timer


def frozen_of(place: Path, wrapper: Sequence[str], words: Sequence[str]) -> count1.Count1:
    """The machine with the files of this program."""
    place.mkdir()
    one = count1.Count1()
    one.program = frozen.program(one, HOST_ROOT, place, [*wrapper, *words], words)
    return one


def seen(one: count1.Count1, place: Path, wrapper: Sequence[str], words: Sequence[str], **stdio: Any) -> dict[str, str]:
    """What a run leaves: a hash of each file of the share, the counts among them, and of what it has printed."""
    share = place / "share"
    for folder in (place, share):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
    with (share / "output").open("wb") as out:
        options = [f"--stats={share}/stats", *([f"--gdb={one.debugger}"] if one.debugger else [])]
        status, _ = frozen.boot(one, place, [*wrapper, *words], *options, stdout=out, stderr=out, **stdio)
    stats = share / "stats"
    stats.write_text("".join(line for line in stats.open() if AFTERWARDS not in line))
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(share.iterdir())}
    return {**found, "status": str(status)}


def differing(one: dict[str, str], other: dict[str, str]) -> str:
    """The names of what is not the same, in a line; "": nothing."""
    return " ".join(name for name in sorted({*one, *other}) if one.get(name) != other.get(name))


def _begin() -> int:
    lines = proc.output(["nm", HOST / "lab/guest/guest-init"]).splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[2:] == [BEGIN])


@cache
def _from_tick_to_second() -> int:
    """In the guest's kernel, wherever it is loaded."""
    words = ["grep", "-wE", f"{SECOND}|{TICK}", "/proc/kallsyms"]
    lines = proc.output([TOP / "vlwp", "shell", "--", *words]).splitlines()
    at = {line.split()[2]: int(line.split()[0], 16) for line in lines}
    return at[SECOND] - at[TICK]


def _tick(stub: Stub) -> int:
    gate = bytes.fromhex(stub.ask(f"m{TICK_GATE:x},10"))
    return int.from_bytes(gate[:2] + gate[6:12], "little")


def _comes_to(stub: Stub, address: int) -> bool:
    """Does it, before it ends? A breakpoint at the address where it stands would stop it there again."""
    stub.ask(f"Z1,{address:x},1")
    there = stub.ask("c").startswith("T05")
    if there:
        stub.ask(f"z1,{address:x},1")
    return there


def _hash_of_memory(file: Path) -> str:
    """Of checksums of what was touched; the rest is zero."""
    digest = hashlib.sha1()
    for at, block in snapshot.data_of(file):
        checksum = zlib.crc32(block)
        if checksum != EMPTY:
            digest.update(at.to_bytes(8, "little") + checksum.to_bytes(4, "little"))
    return digest.hexdigest()


def watched(
    one: count1.Count1, place: Path, wrapper: Sequence[str], words: Sequence[str], **stdio: Any
) -> dict[str, str]:
    """As seen(), with hashes of memory when the kernel's seconds begin and some ticks later: two a second. (Each
    stop costs QEMU all translations.)"""
    place.mkdir()
    memory, door = place / "memory", place / "gdb"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(door))
    door.chmod(0o777)
    listening.listen()
    listening.settimeout(PATIENCE)
    looked = replace(one, memory=memory, debugger=f"unix:{door}")
    found: dict[str, str] = {}
    points: dict[str, str] = {}
    thread = Thread(target=lambda: found.update(seen(looked, place, wrapper, words, **stdio)))
    thread.start()
    stub = Stub(connected=listening.accept()[0])
    stub.run_to(_begin())
    tick = _tick(stub)
    second, between = tick + _from_tick_to_second(), (tick, tick + ENDBR) * APART
    while _comes_to(stub, second):
        points[f"memory {len(points)}"] = _hash_of_memory(memory)
        if not all(_comes_to(stub, address) for address in between):
            break
        points[f"memory {len(points)}"] = _hash_of_memory(memory)
    thread.join()
    stub.socket.close()
    listening.close()
    memory.unlink()
    return {**found, **points}
