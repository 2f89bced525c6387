# SPDX-License-Identifier: GPL-2.0-or-later
"""What valgrind's callgrind counts when it simulates a program: the instructions of each function, and its calls. A
repeated string instruction is one instruction."""

import re
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from lab.common import proc
from lab.common.report import Check

OPTIONS = "--dump-instr=yes --dump-line=no --compress-strings=no --compress-pos=no".split()
# What the stubs of the procedure linkage table are: functions of no object, or part of the instruction that calls them.
STUBS_APART, STUBS_IN_CALLERS = "--skip-plt=no", "--skip-plt=yes"
# A repeated string instruction, of which callgrind counts each turn.
REPEATED = re.compile(rb"[\xf2\xf3][\x40-\x4f]?[\xa4-\xa7\xaa-\xaf]")
LONGEST = 15  # bytes of an instruction
PT_LOAD = 1


class Object:
    """An ELF file of 64 bits, and the addresses of its contents."""

    def __init__(self, path: Path):
        self.data = path.read_bytes()
        self.headers: list[tuple[int, int, int, int]] = []  # type, offset, address, size in the file
        (headers,) = struct.unpack_from("<Q", self.data, 32)
        size, number = struct.unpack_from("<HH", self.data, 54)
        for at in range(headers, headers + size * number, size):
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", self.data, at)
            self.headers.append((kind, offset, address, length))

    def repeats(self, address: int) -> bool:
        """Is the instruction there a repeated string instruction?"""
        for kind, offset, start, size in self.headers:
            if kind == PT_LOAD and start <= address < start + size:
                return bool(REPEATED.match(self.data, offset + address - start))
        return False


class Costs:
    """What a run has counted. An address is that in the object; an object is the path of a file, if it is one."""

    def __init__(self) -> None:
        self.own: dict[str, Counter[int]] = {}  # instructions by object and address
        self.names: dict[tuple[str, int], str] = {}  # the functions of these
        # Of each caller and callee: calls, and instructions until they returned.
        self.calls: dict[tuple[str, str], tuple[int, int]] = {}

    def total(self) -> int:
        """All instructions."""
        return sum(costs.total() for costs in self.own.values())

    def functions(self, path: Path) -> Counter[str]:
        """The instructions of each function of an object, the most first."""
        found: Counter[str] = Counter()
        for at, number in self.own[canonical(str(path))].items():
            found[self.names[canonical(str(path)), at]] += number
        return Counter(dict(found.most_common()))

    def count_repeated_once(self) -> None:
        """An instruction that callgrind has counted more than once was executed no more often than its neighbours."""
        for path, costs in self.own.items():
            if path.startswith("/") and Path(path).is_file():
                file = Object(Path(path))
                costs.update({at: min(_around(costs, at)) - costs[at] for at in costs if file.repeats(at)})


def _around(costs: Mapping[int, int], at: int) -> list[int]:
    """How often the instructions at, before and behind an address were executed."""
    before = (costs[other] for other in range(at - 1, at - LONGEST - 1, -1) if other in costs)
    behind = (costs[other] for other in range(at + 1, at + LONGEST + 1) if other in costs)
    return [costs[at], *islice(before, 1), *islice(behind, 1)]


def of(
    check: Check, words: Sequence[proc.Word], stubs: str = STUBS_APART, env: Mapping[str, str] | None = None
) -> Costs:
    """Run a program under callgrind; its output goes into the log."""
    out = check.work / "callgrind.out"
    check.run(["valgrind", "-q", "--tool=callgrind", stubs, *OPTIONS, f"--callgrind-out-file={out}", *words], env=env)
    return read(out)


@cache
def canonical(path: str) -> str:
    """A path without links, which valgrind does not have."""
    return str(Path(path).resolve()) if path.startswith("/") else path


def read(out: Path) -> Costs:
    """The same of callgrind's file."""
    costs = Costs()
    path = function = callee = ""
    calls = 0
    with out.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.rstrip("\n").partition("=")
            # The activations of a recursive function after the first are called NAME'2.
            if key == "ob":
                path = canonical(value)
            elif key == "fn":
                function = value.partition("'")[0]
            elif key == "cfn":
                callee = value.partition("'")[0]
            elif key == "calls":
                calls = int(value.split()[0])  # the next line has what was called
            elif line.startswith("0x"):
                address, cost = line.split()
                if calls:
                    before = costs.calls.get((function, callee), (0, 0))
                    costs.calls[function, callee] = before[0] + calls, before[1] + int(cost)
                else:
                    costs.own.setdefault(path, Counter())[int(address, 16)] += int(cost)
                    costs.names[path, int(address, 16)] = function
                calls = 0
    costs.count_repeated_once()
    return costs
