# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests beside valgrind's simulators, of the same program: a complete trace beside callgrind, data caches beside
cachegrind."""

import json
import shutil
from pathlib import Path

import pytest

from lab.common.places import LWPCTL
from lab.testing import caches, callgrind
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP, compiled

PROGRAM = """#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone)) static
static volatile int sink;
OWN int leaf(int x) { for (int i = 0; i < 10; i++) sink += x ^ i; return sink & 3; }
OWN int middle(int x) { int s = 0; for (int i = 0; i < x; i++) s += leaf(i); return s; }
OWN int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
OWN void handler(int s) { sink += leaf(s); }
int main(void)
{
    int sum = 0;

    signal(SIGUSR1, handler);
    for (int i = 1; i <= 20; i++)
        sum += middle(i);
    sum += fib(15);
    for (int i = 0; i < 3; i++)
        kill(getpid(), SIGUSR1);
    printf("%d\\n", sum & 255);
    return 0;
}
"""
OWN = ("leaf", "middle", "fib", "handler", "main")
# Loops whose trips are literal in the program: entered, least, most. middle(1) never goes back.
LOOPS = {"leaf": (210 + 3, 10, 10), "middle": (19, 2, 20)}


def test_callgrind(tmp_path: Path) -> None:
    """Instructions and calls of each function in a complete trace are callgrind's, and so are the instructions until a
    call returned.

    Only functions of the program itself are compared: the libraries see another processor under valgrind, and choose
    other string functions."""
    program, data = compiled(tmp_path / "known.c", PROGRAM, "-O2", "-g"), tmp_path / "data"
    good([VLWP, "run", "--lwprun=--windows=all", f"--data={data}", "--report-file=/dev/null", "--", program])
    traced = json.loads(good([LWPCTL, "report", "--exact", "--calls", "--loops", "--json", "--limit=0", data]))
    truth = callgrind.of(tmp_path, [program])
    functions = truth.functions(program)
    ours = {item["symbol"]: item["instructions"] for item in traced["functions"] if item["object"].endswith("/known")}
    assert {name: ours[name] for name in OWN} == {name: functions[name] for name in OWN}
    called: dict[tuple[str, str], tuple[int, int]] = {}
    for call in traced["calls"]:
        pair = call["caller"], call["callee"]
        if set(pair) <= set(OWN):
            calls, instructions = called.get(pair, (0, 0))
            called[pair] = calls + call["calls"], instructions + call["instructions"]
    assert {("main", "middle"), ("middle", "leaf"), ("fib", "fib"), ("handler", "leaf")} <= set(called)
    for pair, (calls, instructions) in called.items():
        there = truth.calls.get(pair, (0, 0))
        assert calls == there[0], pair
        # Both count instructions of recursion in more than one way.
        assert pair == ("fib", "fib") or instructions == there[1], pair
    loops = {loop["symbol"]: (loop["entered"], loop["least"], loop["most"]) for loop in traced["loops"]}
    assert {name: loops.get(name) for name in LOOPS} == LOOPS


def test_cachegrind(tmp_path: Path) -> None:
    """Data cache misses are those of cachegrind, but for what stores do: each miss of LWP, and the number of
    cachegrind's."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    accesses = caches.accesses_of(tmp_path)
    without, with_stores = (caches.misses(accesses, stores) for stores in (False, True))
    assert len(accesses) == caches.ACCESSES and without != with_stores, "the walk is another"
    text = good([VLWP, "shell", "--smp=1", "--", caches.PROGRAM, "lwp"])
    rounds = [[int(word) for word in line.split()] for line in text.splitlines()]
    assert rounds == [without] * 3, "LWP misses other loads"
    # RET loads from the stack.
    assert caches.cachegrind(tmp_path) - len(with_stores) in (0, 1)
