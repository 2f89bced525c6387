# SPDX-License-Identifier: GPL-2.0-or-later
"""Every window of a profile is a path in the program, whose code is decoded by capstone, not by LWP's decoder: each
record names a branch and, if its target is in the instruction, that target; from there the next branch of a walk
through the code is that of the next record. docs/lwpdata.md is the format of a profile."""

import struct
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lab.testing import trace

OBJECT, MAP = 2, 4
FLUSHED = 1  # of THREAD_END
CONTINUES = 1  # of a window
RECORD = struct.Struct("<3xB4xQQ8x")  # the flags that have TKN, address, target
STEPS = 10000  # instructions without a branch, at most
TOLD = 5  # wrong places that are shown


@dataclass(frozen=True)
class Instruction:
    """What matters of one."""

    length: int
    is_branch: bool  # far transfers are none
    conditional: bool
    target: int | None  # that is in the instruction


class Code:
    """A program's own code, where it was mapped."""

    def __init__(self, content: bytes, start: int = 0, end: int = 0, offset: int = 0):
        import capstone  # type: ignore

        self.content, self.start, self.offset = content, start, offset
        self.end = min(end, start + len(content) - offset)
        self.decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.end

    @cache
    def at(self, address: int) -> Instruction | None:
        """The instruction at an address of the code."""
        code = self.content[self.offset + address - self.start:][:min(15, self.end - address)]
        for _, length, words, operands in self.decoder.disasm_lite(code, address, 1):
            name = words.split()[-1]  # after a prefix, as in "bnd jmp"
            direct = name in ("jmp", "call") and operands.startswith("0x")
            conditional = name.startswith(("j", "loop")) and name != "jmp"
            is_branch = conditional or name in ("jmp", "call", "ret")
            return Instruction(length, is_branch, conditional, int(operands, 16) if conditional or direct else None)
        return None

    @cache
    def next_branch(self, address: int) -> int | None:
        """The branch at or after an address, unless the walk leaves the code."""
        for _ in range(STEPS):
            insn = self.at(address) if address in self else None
            if not insn or insn.is_branch:
                return address if insn else None
            address += insn.length
        return None


@dataclass
class Windows:
    """What the windows have."""

    code: Code
    windows: int = 0
    records: int = 0
    checked: int = 0
    joins: int = 0  # runs between two records
    weight: int = 0
    most: int = 0  # the weight of one
    begun: int = 0  # that continue no other
    threads: int = 0
    missed: int = 0
    counted: int = 0
    wrong: list[str] = field(default_factory=list)

    def take(self, payload: memoryview) -> None:
        """A window."""
        weight, flags = struct.unpack_from("<QI", payload, 16)
        self.windows += 1
        self.weight += weight
        self.most = max(self.most, weight)
        self.begun += not flags & CONTINUES
        after = 0
        for flags, address, target in RECORD.iter_unpack(payload[trace.WINDOW_HEAD:]):
            if after in self.code:
                self.joins += 1
                if self.code.next_branch(after) not in (None, address):
                    self.wrong.append(f"{address:#x}: not the next branch of the walk")
            after = self.record(bool(flags & trace.TKN), address, target)

    def record(self, taken: bool, address: int, target: int) -> int:
        """A record. Result: where the program continues, 0 if it is wrong."""
        self.records += 1
        if address not in self.code:
            return target if taken else 0
        self.checked += 1
        insn = self.code.at(address)
        if not insn or not insn.is_branch:
            self.wrong.append(f"{address:#x}: no branch")
            return 0
        if not taken and not insn.conditional:
            self.wrong.append(f"{address:#x}: an unconditional branch that was not taken")
        if taken and insn.target not in (None, target):
            self.wrong.append(f"{address:#x}: not the target in the instruction")
        return target if taken else address + insn.length

    def end(self, payload: memoryview) -> bool:
        """A thread's. Were its counters flushed?"""
        _, flags, _, records, missed, _, counter = struct.unpack_from("<IIQQQII", payload)
        self.threads += 1
        self.missed += missed
        self.counted += records + missed - ((counter & 0x3FFFFFF) - ((counter & 0x2000000) << 1))
        return bool(flags & FLUSHED)


def are_paths(data: Path, program: Path, complete: bool = False) -> str:
    """Weights add up to what the flushed counter says; those of sampled windows do but for one at each end of a thread.
    If it is complete, there is one run of windows for each thread, and nothing is missing. Result: how many there
    are."""
    w = Windows(Code(program.read_bytes()))
    name, own = str(program).encode(), None
    for kind, payload in trace.sections(data):
        if kind == OBJECT and payload[18:18 + payload[16] + (payload[17] << 8)] == name:
            (own,) = struct.unpack_from("<I", payload)
        elif kind == MAP and struct.unpack_from("<I", payload, 4)[0] == own:
            w.code = Code(w.code.content, *struct.unpack_from("<QQQ", payload, 16))
        elif kind == trace.WINDOW:
            w.take(payload)
        elif kind == trace.THREAD_END:
            assert w.end(payload), "a thread's counters were not flushed"
    text = f"{w.windows} windows of {w.records} records, {w.checked} in the program, {w.joins} runs between two, " \
        f"weights {w.weight}, counted {w.counted}"
    assert w.checked and w.joins and not w.wrong, "\n".join(["not every window is a path:", text, *w.wrong[:TOLD]])
    allowed = 0 if complete else 2 * w.most * w.threads
    assert abs(w.weight - w.counted) <= allowed, f"the weights of the windows are not the branches counted: {text}"
    if complete:
        whole = w.begun == w.threads and not w.missed and w.records == w.counted
        assert whole, f"the windows are no complete trace: {w.begun} begin, {w.missed} branches are missed; {text}"
    return text
