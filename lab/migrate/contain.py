# SPDX-License-Identifier: GPL-2.0-or-later
"""What LWP has written to the memory of a guest that writes none itself (guest-tests/flat/tests/contained.c), and
whether it may have written it: to block and ring of its states, through pages that the guest's own tables let user
code write.

Linear addresses are those of the guest's program, physical ones those of its memory."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

MEMORY = 16 << 20
PAGE = 0x1000
LEVELS = 4
LOWER_HALF = 1 << 47  # the program maps nothing above
NEEDED = 1 | 2 | 4  # present, writable, user
LARGE = 0x80
ADDRESS = 0x000ffffffffff000
RIGHTS = ("writable", "read-only", "kernel", "absent")

Span = tuple[int, int]  # where it begins, and how many bytes


class Memory:
    """Of a guest, as a file that QEMU inherits."""

    def __init__(self) -> None:
        self.file = os.memfd_create("guest")
        os.set_inheritable(self.file, True)
        self.clear()

    def clear(self) -> None:
        """All zero."""
        os.ftruncate(self.file, 0)
        os.ftruncate(self.file, MEMORY)

    def words(self) -> list[str]:
        """QEMU's options for it."""
        backend = f"memory-backend-file,id=pc.ram,share=on,size={MEMORY},mem-path=/proc/self/fd/{self.file}"
        return ["-m", f"{MEMORY >> 20}M", "-object", backend, "-machine", "memory-backend=pc.ram"]

    def read(self) -> bytes:
        """All of it."""
        return os.pread(self.file, MEMORY, 0)

    def close(self) -> None:
        """The file goes."""
        os.close(self.file)


@dataclass(frozen=True)
class Place:
    """Pages one after the other with the same rights; linear."""

    rights: str
    at: int
    size: int


@dataclass(frozen=True)
class Written:
    """What is not as it was."""

    bytes: int = 0  # the kernel's stack excepted
    redirected: int = 0  # of these, in the places of the territory
    stray: int | None = None  # the first that is not in any span, or not for user code to write


class Territory:
    """What the program says of its memory, and that memory as it was saved."""

    def __init__(self, said: str, memory: bytes):
        self.memory = memory
        self.tables, = self._numbers(said, r"# tables (\w+)")
        # Physical: the kernel's; the guest writes nothing else.
        self.stack = self._numbers(said, r"# stack (\w+) (\w+)")
        self.block_size, = self._numbers(said, r"# block (\w+)")
        found = re.findall(r"# place (\S+) (\w+) (\w+)", said)
        self.places = [Place(rights, int(at, 16), int(size, 16)) for rights, at, size in found]
        assert self.places and {place.rights for place in self.places} <= set(RIGHTS), said

    @staticmethod
    def _numbers(said: str, pattern: str) -> tuple[int, ...]:
        found = re.search(pattern, said)
        assert found, f"the program does not say {pattern}: {said}"
        return tuple(int(word, 16) for word in found.groups())

    def writable(self, linear: int) -> int | None:
        """Physical address of a byte at CPL 3 for writing; None: there is none."""
        entry, level = self.tables, LEVELS
        if linear >= LOWER_HALF:
            return None
        while True:
            shift = 12 + 9 * (level - 1)
            at = (entry & ADDRESS) + 8 * (linear >> shift & 511)
            assert at < MEMORY, "a page table outside of memory"
            entry = int.from_bytes(self.memory[at:at + 8], "little")
            if entry & NEEDED != NEEDED:
                return None
            level -= 1
            if not level or shift > 12 and entry & LARGE:
                break
        mask = (1 << shift) - 1
        physical = entry & ADDRESS & ~mask | linear & mask
        return physical if physical < MEMORY else None

    def _pieces(self, spans: Iterable[Span]) -> list[range]:
        """What of these is there for user code to write; physical."""
        pieces = []
        for at, size in spans:
            end = at + size
            while at < end:
                following = min((at | PAGE - 1) + 1, end)
                physical = self.writable(at)
                if physical is not None:
                    pieces.append(range(physical, physical + following - at))
                at = following
        return pieces

    def compare(self, now: bytes, spans: Iterable[Span]) -> Written:
        """What is different, and may all of it be?"""
        allowed = self._pieces(spans)
        places = self._pieces((place.at, place.size) for place in self.places)
        stack = range(self.stack[0], sum(self.stack))
        different = [
            at
            for page in range(0, MEMORY, PAGE) if now[page:page + PAGE] != self.memory[page:page + PAGE]
            for at in range(page, page + PAGE) if now[at] != self.memory[at] and at not in stack
        ]
        stray = (at for at in different if not any(at in piece for piece in allowed))
        redirected = sum(any(at in piece for piece in places) for at in different)
        return Written(len(different), redirected, next(stray, None))
