# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of the data caches beside an independent simulator, valgrind's cachegrind, on the same program
(guest-tests/linux/cachewalk.c) with the same L1D.

They differ in one rule: a store brings its line into cachegrind's cache, and does nothing to ours. So there is no
tolerance. valgrind's lackey says which addresses the program loads from and stores to; an LRU cache of a few lines of
Python must miss like LWP without the stores, and like cachegrind with them."""

import re
from pathlib import Path
from typing import NamedTuple

from lab.common import proc
from lab.common.places import LINUX_PROGRAMS

PROGRAM = LINUX_PROGRAMS / "cachewalk"
SIZE, WAYS, LINE_SIZE = 32768, 8, 64
ACCESSES = 20000  # of the walk
SETS = SIZE // WAYS // LINE_SIZE


class Symbol:
    """Where a function or an object lies."""

    def __init__(self, name: str):
        for line in proc.output(["nm", "-S", PROGRAM]).splitlines():
            words = line.split()
            if len(words) == 4 and words[3] == name:
                self.start, self.size = int(words[0], 16), int(words[1], 16)

    def __contains__(self, address: int) -> bool:
        return self.start <= address < self.start + self.size


class Access(NamedTuple):
    """One of the walk to the table."""

    kind: str  # L or S
    offset: int  # in the table


def accesses_of(work: Path) -> list[Access]:
    """What the walk does to the table. Files are in a folder."""
    walk, table, log = Symbol("walk"), Symbol("table"), work / "lackey"
    proc.output(["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}", PROGRAM])
    inside, found = False, []
    for line in log.read_text(encoding="ascii").splitlines():
        match = re.fullmatch(r"(I | L| S| M) +([0-9a-f]+),\d+", line)
        if match and match[1] == "I ":
            inside = int(match[2], 16) in walk
        elif match and inside and int(match[2], 16) in table:
            found.append(Access(match[1].strip(), int(match[2], 16) - table.start))
    return found


def misses(accesses: list[Access], stores: bool) -> list[int]:
    """The loads that an LRU cache misses, which stores fill or not."""
    start = Symbol("table").start
    sets: list[list[int]] = [[] for _ in range(SETS)]
    missed = []
    for access in accesses:
        line = (start + access.offset) // LINE_SIZE
        ways = sets[line % SETS]
        if access.kind == "S" and not stores:
            continue
        if line in ways:
            ways.remove(line)
        elif access.kind != "S":
            missed.append(access.offset)
        sets[line % SETS] = [line, *ways][:WAYS]
    return missed


def cachegrind(work: Path) -> int:
    """Read misses of L1D in the walk."""
    out = work / "cachegrind"
    geometry = f"--D1={SIZE},{WAYS},{LINE_SIZE}"
    proc.output(["valgrind", "--tool=cachegrind", "--cache-sim=yes", geometry, f"--cachegrind-out-file={out}", PROGRAM])
    text = out.read_text(encoding="utf-8")
    found = re.search(r"^events: (.*)$", text, re.MULTILINE)
    assert found
    column = found[1].split().index("D1mr") + 1
    function = re.search(r"^fn=walk\n((?:\d.*\n)+)", text, re.MULTILINE)
    assert function
    return sum(int(line.split()[column]) for line in function[1].splitlines())
