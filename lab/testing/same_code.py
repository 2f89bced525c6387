# SPDX-License-Identifier: GPL-2.0-or-later
"""What LWP costs a guest that does not use it: nothing in translated code. Unpatched and patched QEMU translate the
same guest code, and the host instructions are compared, without addresses."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from lab.building import qemu
from lab.common import places, proc
from lab.common.report import Check

Block = tuple[str, str]  # a TB: address and bytes of its guest code
SEPARATOR = bytes([0x90]) * 16
WANTED = 500  # TBs at least that both have translated
MACHINE = ["-accel", "tcg", "-machine", "q35", "-m", "64", "-nodefaults", "-no-user-config", "-display", "none"]
MACHINE += ["-no-reboot", "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-append", "test=bench cpus=1 rounds=1"]
# Numbers that differ from one QEMU to the next: places in CPUArchState, in the code, and in memory.
PLACES = (
    (re.compile(r"-?0x[0-9a-f]+\((%rbp|%rip)"), r"N(\1"),
    (re.compile(r"\$0x[0-9a-f]{9,}"), "$N"),
    (re.compile(r"^(call|jmp|j[a-z]+)\s+0x[0-9a-f]+.*"), r"\1 N"),
    (re.compile(r"\s*#.*"), ""),
    (re.compile(r"\s+"), " "),
)


def _blocks(log: str) -> Iterator[tuple[Block, bytes]]:
    """The TBs of a log of in_asm and out_asm, with their host code. Constants that follow the code are not in it."""
    for text in log.split("----------------\nIN:")[1:]:
        guest, _, host = text.partition("OUT: [")
        where = re.search(r"0x([0-9a-f]+):", guest)
        if where and host:
            code = "".join(re.findall(r"OBJD-T: ([0-9a-f]+)", guest))
            yield (where[1], code), bytes.fromhex("".join(re.findall(r"OBJD-H: ([0-9a-f]+)", host)))


def _instructions(check: Check, code: bytes) -> Iterator[tuple[int, str]]:
    """Offsets and host instructions without places."""
    binary = check.work / "code"
    binary.write_bytes(code)
    listing = proc.output(["objdump", "-D", "-z", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn", binary])
    for line in listing.splitlines():
        match = re.match(r" *([0-9a-f]+):\t(.*)", line)
        if match:
            text = match[2]
            for what, instead in PLACES:
                text = what.sub(instead, text)
            yield int(match[1], 16), text


def _translations(check: Check, emulator: Path, cpu: str) -> dict[Block, set[tuple[str, ...]]]:
    """The host instructions of each TB in a run of a bare guest. Some are translated more than once."""
    log = check.work / "translations"
    words: list[proc.Word] = [emulator, *MACHINE, "-cpu", cpu, "-L", places.FIRMWARE]
    words += ["-kernel", places.HOST / "guest-tests/flat/flat.elf", "-d", "in_asm,out_asm", "-D", log]
    check.call(words)
    found, starts, whole = defaultdict(set), [], bytearray()
    for block, code in _blocks(log.read_text(encoding="ascii", errors="replace")):
        starts.append((len(whole), len(whole) + len(code), block))
        whole += code + SEPARATOR
    instructions = iter(_instructions(check, bytes(whole)))
    offset, text = next(instructions)
    for start, end, block in starts:
        while offset < start:
            offset, text = next(instructions)
        listing = []
        while offset < end:
            listing.append(text)
            offset, text = next(instructions)
        found[block].add(tuple(listing))
    return found


def _same(check: Check, base: dict[Block, set[tuple[str, ...]]], cpu: str) -> None:
    patched = _translations(check, places.qemu(), cpu)
    both = [block for block in base if block in patched]
    check.say(f"{cpu}: {len(base)} and {len(patched)} TBs, {len(both)} the same guest code")
    check.want(len(both) >= WANTED and len(both) >= 0.9 * len(base), "too few TBs to compare")
    for block in both:
        if not base[block] & patched[block]:
            for listing in (min(base[block]), min(patched[block])):
                check.say(f"guest code at {block[0]}:\n  " + "\n  ".join(listing))
            check.want(False, f"{cpu}: other host instructions than unpatched QEMU")


def same_code(check: Check) -> None:
    """Without lwp, and with lwp that no program switches on, with a model of caches too."""
    qemu.build("base")
    base = _translations(check, places.qemu_base(), "EPYC,check=off")
    for cpu in ("EPYC,check=off", "EPYC,check=off,lwp=on", "EPYC,check=off,lwp=on,lwp-dme=on"):
        _same(check, base, cpu)
