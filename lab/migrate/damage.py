# SPDX-License-Identifier: GPL-2.0-or-later
"""Streams of guest-tests/flat/tests/contained.c, and damage to what belongs to LWP in them: at random, or aimed at
memory that LWP must or must not write."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from lab.migrate.contain import MEMORY, Memory, Span, Territory
from lab.migrate.machines import Task, output

# vmcb/lwp_state.h, vmcb/lwp_cb.h, vmcb/lwp_record.h
RECORD = 32
CBADDR, FLAGS, HEAD, BASE, SIZE_RANDOM, XSAVE_SIZE, RETRY_RIP = 0, 8, 12, 16, 24, 96, 112
ENTRY, ENTRY_HASH, ENTRY_IMAGE = 240, 32, 112
BUFFER_SIZE = (1 << 28) - 1
CB_SIZE_RANDOM, CB_BASE, CB_MAX = 4, 8, 2040
PAGE_RING_SIZE = 32 * RECORD  # of the rings with which contained.c begins its pages
SECTION_FOOTER = 0x7e
MOST_EDITS = 3
ACROSS = "on a border"  # of writable pages with others
AIMS = ("writable", "read-only", "kernel", "absent", ACROSS)


@dataclass(frozen=True)
class Base:
    """A machine, where it is saved, and x-lwp-state there."""

    cpu: str
    append: str
    step: int
    state: str


BASES = (
    Base("+lwp", "contained", 2000, "idle"),
    Base("+lwp", "contained", 2010, "pending"),
    Base("+lwp", "contained ring=absent", 1531, "faulting"),
    Base("+lwp,lwp-context=os", "contained context=os", 510, "pending"),
    Base("+lwp,lwp-rev=2007", "contained rev=2007", 2040, "pending"),
)


@dataclass(frozen=True)
class Section:
    """Where a part of LWP lies in a stream: after its name, with the length before it. What lies after them is not
    damaged: QEMU believes what others say, as cpu_common of a pending CPU_INTERRUPT_DEBUG."""

    name: bytes
    length: int  # bytes after the name: version and, of a section, instance; data
    counted: bool  # a u32 with the number of further bytes ends them
    weight: int


TERMS = Section(b"\7x86-lwp", 8 + 21, False, 1)
CPU = Section(b"\7cpu/lwp", 4 + 159, False, 4)
CONTEXTS = Section(b"\20x86-lwp-contexts", 8 + 4, True, 5)


def _get(data: bytes | bytearray, at: int, size: int) -> int:
    return int.from_bytes(data[at:at + size], "little")


def _put(data: bytearray, at: int, value: int, size: int) -> None:
    data[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


@dataclass(frozen=True)
class Damage:
    """A stream, and what a block or ring in it was made to lie in: pages of these rights, "": none."""

    aim: str
    stream: bytearray


class Save:
    """The stream of a base, its parts and its machine's memory."""

    def __init__(self, task: Task, number: int):
        base, path, memory = BASES[number], task.work / f"base{number}", Memory()
        with task.source(base.cpu, base.append, "-S", *memory.words(), fds=[memory.file]) as vm:
            vm.set_cpu("x-lwp-stop-at", base.step)
            vm.do("cont")
            vm.event("STOP")
            assert base.state in vm.cpu("x-lwp-state"), f"{base} is {vm.cpu('x-lwp-state')}"
            self.stream = vm.save(path)
        self.base = base
        self.territory = Territory(output(vm), memory.read())
        memory.close()
        self.sections = {section: where for section in (TERMS, CPU, CONTEXTS) if (where := self._find(section))}
        assert TERMS in self.sections and CPU in self.sections, f"no LWP in the stream of {base}"
        # Images of 128 bytes, and the entry in the array of contexts of each, if it is there. LWP is off in the CPU's
        # own when its context is among the others.
        where = self.sections.get(CONTEXTS)
        entries = range(where.start + CONTEXTS.length, where.stop, ENTRY) if where else ()
        self.images = [(at + ENTRY_IMAGE, at) for at in entries] or [(self.sections[CPU].start + 4, 0)]

    def _find(self, section: Section) -> range | None:
        found = self.stream.find(section.name)
        if found < 0:
            return None
        begin = found + len(section.name)
        end = begin + section.length
        end += int.from_bytes(self.stream[end - 4:end], "big") if section.counted else 0
        assert self.stream[end] == SECTION_FOOTER, f"{section.name!r} is not as long as this test believes"
        return range(begin, end)

    def undamaged(self) -> Damage:
        """The stream as it was."""
        return Damage("", bytearray(self.stream))

    def draw(self, dice: random.Random) -> Damage:
        """At random or aimed, or both."""
        stream, aim, edits = bytearray(self.stream), "", 1 + dice.randrange(MOST_EDITS)
        if dice.randrange(2):
            aim = dice.choice(AIMS)
            self._aim(dice, stream, aim)
            edits = int(not dice.randrange(4))
        for _ in range(edits):
            self._edit(dice, stream)
        if not aim and not dice.randrange(50):
            del stream[self._place(dice)[0]:]
        return Damage(aim, stream)

    def _place(self, dice: random.Random) -> tuple[int, int]:
        """A byte of LWP's parts, and how many from there belong to the same part."""
        section = dice.choices(list(self.sections), [section.weight for section in self.sections])[0]
        at = dice.choice(self.sections[section])
        return at, self.sections[section].stop - at

    def _edit(self, dice: random.Random, stream: bytearray) -> None:
        (at, room), (other, more) = self._place(dice), self._place(dice)
        how = dice.randrange(5)
        if how == 0:
            stream[at] ^= 1 << dice.randrange(8)
        elif how == 1:
            stream[at] = dice.randrange(256)
        elif how == 2:
            extreme = dice.choice((0, (1 << 64) - 1, 1 << 63, 1 << 47, 0xfff, 1))
            _put(stream, at, extreme, min(room, 1 << dice.randrange(4)))
        elif how == 3:  # a ring of another size, and a head near its end: before, at, or after it
            image, size = dice.choice(self.images)[0], RECORD * (1 + dice.randrange(128))
            _put(stream, image + SIZE_RANDOM, size, 4)
            _put(stream, image + HEAD, size - RECORD * (1 - dice.randrange(3)), 4)
        else:
            length = min(room, more, 1 + dice.randrange(8))
            stream[at:at + length] = stream[other:other + length]

    def _inside(self, dice: random.Random, rights: str) -> int:
        """An address in one of the places with these rights, on a multiple of a record's size."""
        place = dice.choice([place for place in self.territory.places if place.rights == rights])
        return place.at + RECORD * dice.randrange(place.size // RECORD)

    def _border(self, dice: random.Random) -> int:
        """The end of a writable place after which there is one that is not."""
        pairs = zip(self.territory.places, self.territory.places[1:])
        return dice.choice([
            one.at + one.size for one, other in pairs if one.rights == "writable" and other.at == one.at + one.size
        ])

    def _redirect_ring(self, dice: random.Random, stream: bytearray, image: int, aim: str) -> None:
        """Where a record goes first, so that it, or one soon after it, is what is aimed at."""
        if aim == ACROSS:
            at = self._border(dice) - RECORD * dice.randrange(4) - (RECORD // 2 if dice.randrange(2) else 0)
        else:
            at = self._inside(dice, aim)
        _put(stream, image + BASE, at - _get(stream, image + HEAD, 4), 8)

    def _redirect_block(self, dice: random.Random, stream: bytearray, image: int, aim: str) -> None:
        """To a block that contained.c has made, if it lies in one place."""
        at = self._border(dice) - 16 * (1 + dice.randrange(3)) if aim == ACROSS else self._inside(dice, aim) & ~0xfff
        _put(stream, image + CBADDR, at, 8)
        _put(stream, image + HEAD, 0, 4)
        _put(stream, image + SIZE_RANDOM, PAGE_RING_SIZE, 4)

    def _defer(self, dice: random.Random, stream: bytearray, image: int, aim: str) -> None:
        """The block is taken over when CPL 3 runs next; its ring is what it says then."""
        self._redirect_block(dice, stream, image, aim)
        stream[image + FLAGS:image + XSAVE_SIZE] = bytes(XSAVE_SIZE - FLAGS)
        _put(stream, image + RETRY_RIP, 0, 8)

    def _aim(self, dice: random.Random, stream: bytearray, aim: str) -> None:
        image, entry = dice.choice(self.images)
        ways: tuple[tuple[Callable[[random.Random, bytearray, int, str], None], ...], ...] = (
            (self._redirect_ring,), (self._redirect_block,), (self._redirect_block, self._redirect_ring),
            (self._defer,),
        )
        how = dice.randrange(len(ways))
        for way in ways[how]:
            way(dice, stream, image, aim)
        # As of a context that came without anything to compare: else it would not be found.
        if entry and (ways[how] == (self._defer,) or dice.randrange(4)):
            stream[entry + ENTRY_HASH:entry + ENTRY_IMAGE] = bytes(ENTRY_IMAGE - ENTRY_HASH)

    def spans(self, stream: bytearray) -> list[Span]:
        """What the states of a stream let LWP write: block and ring of each."""
        spans = []
        for image, _ in self.images:
            block, size = _get(stream, image + CBADDR, 8), _get(stream, image + SIZE_RANDOM, 4) & BUFFER_SIZE
            ring = (_get(stream, image + BASE, 8), size) if size else self._ring_in_memory(block)
            spans += [(block, self.territory.block_size), ring]
        return spans

    def _ring_in_memory(self, block: int) -> Span:
        """A block that is yet to be taken over says itself where its ring is."""
        at = self.territory.writable(block)
        if at is None or at + CB_MAX > MEMORY:
            return 0, 0
        memory = self.territory.memory
        return _get(memory, at + CB_BASE, 8), _get(memory, at + CB_SIZE_RANDOM, 4) & BUFFER_SIZE
