# SPDX-License-Identifier: GPL-2.0-or-later
"""What a complete trace tells of functions beside valgrind's callgrind, which simulates the same program: instructions,
calls, and the instructions until a call returned. Only functions of the program itself are compared: the libraries see
another processor under valgrind, and choose other string functions."""

import json
from typing import Any

from lab.common.places import LWPCTL, TOP
from lab.common.report import Check, Report
from lab.testing import callgrind

LINE = "instructions and calls of each function are callgrind's"

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


def _traced(check: Check) -> dict[str, Any]:
    data = check.work / "known.data"
    options = ["--lwprun=--windows=all", f"--data={data}", "--report-file=/dev/null"]
    check.run([TOP / "vlwp", "run", *options, "--", str(check.work / "known")])
    status, text = check.text([LWPCTL, "report", "--exact", "--calls", "--loops", "--json", "--limit=0", data])
    check.want(status == 0, f"lwpctl ends with status {status}")
    return dict(json.loads(text))


def same(check: Check) -> None:
    """Function for function."""
    source = check.work / "known.c"
    source.write_text(PROGRAM, encoding="ascii")
    check.run(["gcc", "-O2", "-g", source, "-o", check.work / "known"])
    traced, truth = _traced(check), callgrind.of(check, [check.work / "known"])
    own, pairs = truth.functions(check.work / "known"), truth.calls
    ours = {item["symbol"]: item for item in traced["functions"] if item["object"].endswith("/known")}
    for name in OWN:
        check.want(ours[name]["instructions"] == own[name], f"{name}: {ours[name]}, callgrind {own[name]}")
    check.say({name: own[name] for name in OWN})
    called: dict[tuple[str, str], tuple[int, int]] = {}
    for call in traced["calls"]:
        pair = call["caller"], call["callee"]
        if set(pair) <= set(OWN):
            calls, instructions = called.get(pair, (0, 0))
            called[pair] = calls + call["calls"], instructions + call["instructions"]
    for pair, (calls, instructions) in called.items():
        there = pairs.get(pair, (0, 0))
        check.want(calls == there[0], f"{pair}: {calls} calls, callgrind {there[0]}")
        # Both count instructions of recursion in more than one way.
        check.want(pair == ("fib", "fib") or instructions == there[1], f"{pair}: {instructions}, {there[1]}")
    check.want({("main", "middle"), ("middle", "leaf"), ("fib", "fib"), ("handler", "leaf")} <= set(called), "calls")
    loops = {loop["symbol"]: (loop["entered"], loop["least"], loop["most"]) for loop in traced["loops"]}
    check.want({name: loops.get(name) for name in LOOPS} == LOOPS, f"loops {loops}")


def run(report: Report) -> None:
    """In a guest and on this machine."""
    report.check(LINE, same)
