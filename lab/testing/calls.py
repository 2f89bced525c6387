# SPDX-License-Identifier: GPL-2.0-or-later
"""What a complete trace tells of functions beside valgrind's callgrind, which simulates the same program: instructions,
calls, and the instructions until a call returned. Only functions of the program itself are compared: the libraries see
another processor under valgrind, and choose other string functions."""

import json
import re
import shutil
from typing import Any

from lab.common.places import LWPCTL, TOP
from lab.common.report import Check, Report

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

Numbers = dict[str, int]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _callgrind(check: Check) -> tuple[Numbers, dict[tuple[str, str], tuple[int, int]]]:
    """Instructions of each function; calls of each pair of functions and their instructions."""
    out = check.work / "callgrind"
    # Else the stubs of the procedure linkage table count for the instruction that calls them.
    options = ["--skip-plt=no", f"--callgrind-out-file={out}"]
    check.run(["valgrind", "--tool=callgrind", *options, check.work / "known"])
    status, text = check.text(["callgrind_annotate", "--tree=calling", "--threshold=100", "--auto=no", out])
    check.want(status == 0, f"callgrind_annotate ends with status {status}")
    own: Numbers = {}
    pairs: dict[tuple[str, str], tuple[int, int]] = {}
    caller = ""
    # The activations of a recursive function after the first are called NAME'2.
    for cost, mark, name, times in re.findall(
        r"^ *([0-9,]+) \([^)]*\) +([*>]) +\S*?:(\w+)(?:'2)?(?: \(([0-9,]+)x\))?", text, re.MULTILINE
    ):
        if mark == "*":
            caller = name
            own[name] = own.get(name, 0) + _number(cost)
        elif times:
            calls, instructions = pairs.get((caller, name), (0, 0))
            pairs[caller, name] = calls + _number(times), instructions + _number(cost)
    return own, pairs


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
    traced, (own, pairs) = _traced(check), _callgrind(check)
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
    """It needs valgrind."""
    if shutil.which("valgrind"):
        report.check(LINE, same)
    else:
        report.skip(f"{LINE}: valgrind is not installed")
