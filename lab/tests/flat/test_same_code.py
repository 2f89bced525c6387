# SPDX-License-Identifier: GPL-2.0-or-later
"""The code that QEMU generates where there is no LWP, and what it records."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.common import places, proc
from lab.tests.conftest import good, machine, run
from lab.tests.flat.kernel import LWP, PLAIN, flat


Block = tuple[str, str]  # a TB: address and bytes of its guest code
Listings = dict[Block, set[tuple[str, ...]]]
SEPARATOR = bytes([0x90]) * 16
WANTED = 500  # TBs at least that both have translated
END = 64  # bytes of a log of which some are written when QEMU ends
LOGGED = 100_000  # bytes of a log at least
# Numbers that differ from one QEMU to the next: places in CPUArchState, in the code, and in memory.
PLACES = (
    (re.compile(r"-?0x[0-9a-f]+\((%rbp|%rip)"), r"N(\1"),
    (re.compile(r"\$0x[0-9a-f]{9,}"), "$N"),
    (re.compile(r"^(call|jmp|j[a-z]+)\s+0x[0-9a-f]+.*"), r"\1 N"),
    (re.compile(r"\s*#.*"), ""),
    (re.compile(r"\s+"), " "),
)


def blocks(log: str) -> Iterator[tuple[Block, bytes]]:
    """The TBs of a log of in_asm and out_asm, with their host code. Constants that follow the code are not in it."""
    for text in log.split("----------------\nIN:")[1:]:
        guest, _, host = text.partition("OUT: [")
        where = re.search(r"0x([0-9a-f]+):", guest)
        if where and host:
            code = "".join(re.findall(r"OBJD-T: ([0-9a-f]+)", guest))
            yield (where[1], code), bytes.fromhex("".join(re.findall(r"OBJD-H: ([0-9a-f]+)", host)))


def instructions(binary: Path, code: bytes) -> Iterator[tuple[int, str]]:
    """Offsets and host instructions without places."""
    binary.write_bytes(code)
    listing = proc.output(["objdump", "-D", "-z", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn", binary])
    for line in listing.splitlines():
        match = re.match(r" *([0-9a-f]+):\t(.*)", line)
        if match:
            text = match[2]
            for what, instead in PLACES:
                text = what.sub(instead, text)
            yield int(match[1], 16), text


def translations(work: Path, emulator: Path, cpu: str) -> Listings:
    """The host instructions of each TB in a run of a bare guest. Some are translated more than once."""
    log = work / "translations"
    run(machine(cpu, *flat("test=bench cpus=1 rounds=1"), "-d", "in_asm,out_asm", "-D", log, qemu=emulator))
    found, starts, whole = defaultdict(set), [], bytearray()
    for block, code in blocks(log.read_text(encoding="ascii", errors="replace")):
        starts.append((len(whole), len(whole) + len(code), block))
        whole += code + SEPARATOR
    every = iter(instructions(work / "code", bytes(whole)))
    offset, text = next(every)
    for start, end, block in starts:
        while offset < start:
            offset, text = next(every)
        listing = []
        while offset < end:
            listing.append(text)
            offset, text = next(every)
        found[block].add(tuple(listing))
    return found


@pytest.fixture(scope="module")
def unpatched(tmp_path_factory: pytest.TempPathFactory) -> Listings:
    """What unpatched QEMU translates."""
    return translations(tmp_path_factory.mktemp("base"), places.qemu_base(), PLAIN)


@pytest.mark.unpatched
@pytest.mark.xdist_group("same_code")
@pytest.mark.parametrize("cpu", [PLAIN, LWP, f"{LWP},lwp-dme=on"], ids=["without", "off", "caches"])
def test_same_code(unpatched: Listings, tmp_path: Path, cpu: str) -> None:
    """Without LWP, and with LWP that no program switches on, translated code is that of unpatched QEMU: host
    instructions are compared, without addresses."""
    patched = translations(tmp_path, places.qemu(), cpu)
    both = [block for block in unpatched if block in patched]
    assert len(both) >= WANTED and len(both) >= 0.9 * len(unpatched), "too few TBs to compare"
    for block in both:
        assert unpatched[block] & patched[block], f"guest code at {block[0]}: other host instructions"


@pytest.mark.unpatched
def test_same_log(tmp_path: Path) -> None:
    """Without LWP, what -icount records of a booting kernel is what unpatched QEMU records: all bytes but the last,
    which depend on the moment at which QEMU ends."""
    logs, consoles = [], []
    for name, qemu in ("base", places.qemu_base()), ("patched", places.qemu()):
        log, console = tmp_path / f"{name}.log", tmp_path / f"{name}.txt"
        words = f"-icount shift=2,sleep=off,rr=record,rrfile={log} -rtc base=2026-01-01,clock=vm -seed 1 -m 256 "
        words += f"-net none -serial file:{console} -kernel {places.GUEST}/vmlinux -no-reboot -append"
        good(machine(PLAIN, *words.split(), "console=ttyS0 panic=-1 no_timer_check", qemu=qemu))
        logs.append(log.read_bytes())
        consoles.append(console.read_bytes())
    same = min(map(len, logs)) - END
    assert same > LOGGED and logs[0][:same] == logs[1][:same] and consoles[0] == consoles[1]
