# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of the data caches beside independent simulators, valgrind's cachegrind and QEMU's cache plugin, on the
same program (guest-tests/linux/cachewalk.c) with the same L1D.

They differ in one rule: a store brings its line into their caches, and does nothing to ours. So there is no tolerance.
valgrind's lackey says which addresses the program loads from and stores to; an LRU cache of a few lines of Python must
miss like LWP without the stores, and like the others with them. The plugin is of QEMU's own source and counts the
misses of each instruction, of stores too; it runs in qemu-x86_64, because a whole machine's accesses would count
otherwise (`./vlwp soak builds user`)."""

import re
from collections import Counter
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
    instruction: int  # its address


def accesses_of(work: Path) -> list[Access]:
    """What the walk does to the table. Files are in a folder."""
    walk, table, log = Symbol("walk"), Symbol("table"), work / "lackey"
    proc.output(["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}", PROGRAM])
    inside, at, found = False, 0, []
    for line in log.read_text(encoding="ascii").splitlines():
        match = re.fullmatch(r"(I | L| S| M) +([0-9a-f]+),\d+", line)
        if match and match[1] == "I ":
            at = int(match[2], 16)
            inside = at in walk
        elif match and inside and int(match[2], 16) in table:
            found.append(Access(match[1].strip(), int(match[2], 16) - table.start, at))
    return found


def _missed(accesses: list[Access], stores: bool) -> list[Access]:
    """What misses an LRU cache, with or without the stores."""
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
        else:
            missed.append(access)
        sets[line % SETS] = [line, *ways][:WAYS]
    return missed


def misses(accesses: list[Access], stores: bool) -> list[int]:
    """The loads that an LRU cache misses, which stores fill or not."""
    return [access.offset for access in _missed(accesses, stores) if access.kind != "S"]


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


def plugin_agrees(work: Path, emulator: Path, plugin: Path) -> str:
    """Each instruction of the walk misses in QEMU's cache plugin as often as in an LRU cache with stores. Result: how
    often."""
    accesses, walk = accesses_of(work), Symbol("walk")
    wanted = Counter(access.instruction for access in _missed(accesses, True))
    log = work / "plugin"
    geometry = f"dcachesize={SIZE},dassoc={WAYS},dblksize={LINE_SIZE},evict=lru,limit=100000"
    proc.output([emulator, "-plugin", f"{plugin},{geometry}", "-d", "plugin", "-D", log, PROGRAM])
    text = log.read_text(encoding="utf-8").partition("address, data misses")[2].partition("address, fetch misses")[0]
    rows = re.findall(r"^0x([0-9a-f]+)[^,]*, (\d+),", text, re.MULTILINE)
    found = Counter({int(at, 16): int(number) for at, number in rows if int(at, 16) in walk and int(number)})
    loads = sum(found[at] for at in {access.instruction for access in accesses if access.kind != "S"})
    # RET loads from the stack.
    assert not wanted - found and (found - wanted).total() in (0, 1), f"the plugin has {found}, LRU {wanted}"
    return f"plugin: {loads} loads and {found.total() - loads} others miss, LRU with stores {wanted.total()} in all; " \
        f"LWP, without stores: {len(misses(accesses, stores=False))} loads"
