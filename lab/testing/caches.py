# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of the data caches beside an independent simulator, valgrind's cachegrind, on the same program
(guest-tests/linux/cachewalk.c) with the same L1D.

They differ in one rule: a store brings its line into cachegrind's cache, and does nothing to ours. So there is no
tolerance. valgrind's lackey says which addresses the program loads from and stores to; an LRU cache of a few lines of
Python must miss like LWP without the stores, and like cachegrind with them."""

import re
import shutil

from lab.common import proc
from lab.common.places import LINUX_PROGRAMS, TOP
from lab.common.report import Check, Report

LINE = "data cache misses are those of cachegrind, but for what stores do"
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


def _accesses(check: Check) -> list[tuple[str, int]]:
    """What the walk does to the table: L or S and where."""
    walk, table, log = Symbol("walk"), Symbol("table"), check.work / "lackey"
    check.run(["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}", PROGRAM])
    inside, found = False, []
    for line in log.read_text(encoding="ascii").splitlines():
        match = re.fullmatch(r"(I | L| S| M) +([0-9a-f]+),\d+", line)
        if match and match[1] == "I ":
            inside = int(match[2], 16) in walk
        elif match and inside and int(match[2], 16) in table:
            found.append((match[1].strip(), int(match[2], 16) - table.start))
    return found


def _misses(accesses: list[tuple[str, int]], start: int, stores: bool) -> list[int]:
    """The loads that an LRU cache misses, which stores fill or not."""
    sets: list[list[int]] = [[] for _ in range(SETS)]
    missed = []
    for kind, offset in accesses:
        line = (start + offset) // LINE_SIZE
        ways = sets[line % SETS]
        if kind == "S" and not stores:
            continue
        if line in ways:
            ways.remove(line)
        elif kind != "S":
            missed.append(offset)
        sets[line % SETS] = [line, *ways][:WAYS]
    return missed


def _cachegrind(check: Check) -> int:
    """Read misses of L1D in the walk."""
    out = check.work / "cachegrind"
    geometry = f"--D1={SIZE},{WAYS},{LINE_SIZE}"
    check.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", geometry, f"--cachegrind-out-file={out}", PROGRAM])
    text = out.read_text(encoding="utf-8")
    found = re.search(r"^events: (.*)$", text, re.MULTILINE)
    assert found
    column = found[1].split().index("D1mr") + 1
    function = re.search(r"^fn=walk\n((?:\d.*\n)+)", text, re.MULTILINE)
    assert function
    return sum(int(line.split()[column]) for line in function[1].splitlines())


def same(check: Check) -> None:
    """Each miss of LWP, and the number of cachegrind's."""
    accesses, start = _accesses(check), Symbol("table").start
    without, with_stores = _misses(accesses, start, False), _misses(accesses, start, True)
    status, text = check.text([TOP / "vlwp", "shell", "--smp=1", "--", str(PROGRAM), "lwp"])
    rounds = [[int(word) for word in line.split()] for line in text.splitlines()]
    theirs = _cachegrind(check)
    check.say(f"{len(accesses)} accesses")
    check.say(f"misses: LWP {[len(lwp) for lwp in rounds]}, LRU without stores {len(without)}")
    check.say(f"cachegrind {theirs}, LRU with stores {len(with_stores)}")
    check.want(status == 0 and len(accesses) == ACCESSES and without != with_stores, "the walk is another")
    check.want(len(rounds) == 3 and all(lwp == without for lwp in rounds), "LWP misses other loads")
    # RET loads from the stack.
    check.want(theirs - len(with_stores) in (0, 1), "cachegrind misses other loads")


def run(report: Report) -> None:
    """It needs valgrind, which nothing else does."""
    if shutil.which("valgrind"):
        report.check(LINE, same)
    else:
        report.skip(f"{LINE}: valgrind is not installed")
