# SPDX-License-Identifier: GPL-2.0-or-later
"""What valgrind's callgrind counts when it simulates a program: the instructions of each function, and its calls. A
repeated string instruction is one instruction. And whether a profile has the same shares."""

import json
import re
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from lab.common import proc
from lab.common.places import LWPCTL

OPTIONS = "--dump-instr=yes --dump-line=no --compress-strings=no --compress-pos=no".split()
# What the stubs of the procedure linkage table are: functions of no object, or part of the instruction that calls them.
STUBS_APART, STUBS_IN_CALLERS = "--skip-plt=no", "--skip-plt=yes"
# A repeated string instruction, of which callgrind counts each turn.
REPEATED = re.compile(rb"[\xf2\xf3][\x40-\x4f]?[\xa4-\xa7\xaa-\xaf]")
LONGEST = 15  # bytes of an instruction
PT_LOAD = 1
SAMPLES = 20000  # of a profile whose shares are compared, at least
TOLERANCE = 0.02  # of a share


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
    """How often the instructions at, before and after an address were executed."""
    before = (costs[other] for other in range(at - 1, at - LONGEST - 1, -1) if other in costs)
    behind = (costs[other] for other in range(at + 1, at + LONGEST + 1) if other in costs)
    return [costs[at], *islice(before, 1), *islice(behind, 1)]


def of(work: Path, words: Sequence[proc.Word], stubs: str = STUBS_APART, env: Mapping[str, str] | None = None) -> Costs:
    """Run a program under callgrind, whose file is in a folder. What the program prints is nobody's."""
    out = work / "callgrind.out"
    options = [stubs, *OPTIONS, f"--callgrind-out-file={out}"]
    proc.output(["valgrind", "-q", "--tool=callgrind", *options, *words], env=env, errors="replace")
    return read(out)


def shares(work: Path, words: Sequence[str], data: Path, own: bool = False) -> str:
    """Each function of a program has the share of all instructions in its profile that callgrind counts, within 2
    points; they are told. own: of the instructions in the program's own functions, for short runs, in which the dynamic
    loader, that runs before LWP is on, has a large part."""
    costs = of(work, words)
    truth = costs.functions(Path(words[0]))
    report = json.loads(proc.output([LWPCTL, "report", "--json", data]))
    (event,) = [event for event in report["events"] if event["event"] == "instructions"]
    assert event["samples"] >= SAMPLES, f"{event['samples']} samples, fewer than {SAMPLES}"
    profile = {row["symbol"]: row["share"] for row in event["symbols"] if row["object"] == words[0]}
    total = sum(truth.values()) if own else costs.total()
    seen = sum(profile.get(name, 0) for name in truth) if own else 1
    both = {name: (number / total, profile.get(name, 0) / seen) for name, number in truth.items()}
    text = "\n".join(f"{name:16} truth {right:6.2%}, profile {there:6.2%}" for name, (right, there) in both.items())
    wrong = [name for name, (right, there) in both.items() if abs(right - there) > TOLERANCE]
    assert not wrong, f"not the shares of the truth: {' '.join(wrong)}\n{text}"
    return text


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
