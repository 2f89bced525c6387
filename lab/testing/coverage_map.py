# SPDX-License-Identifier: GPL-2.0-or-later
"""Edge coverage of a program without instrumentation: lwprun --windows=all, lwpctl export --format=afl."""

import re
from pathlib import Path

from lab.common import proc
from lab.common.places import LINUX_PROGRAMS, LWPCTL, TOP
from lab.common.report import Check
from lab.testing.exports import edge

VLWP = TOP / "vlwp"
PROGRAM = LINUX_PROGRAMS / "edges"
LINE = "the edges of a known program are in AFL's map, and the same in each run"
CLASS_OF_9 = 5  # AFL's class of 8 to 15


def _map(check: Check, name: str, *arguments: str) -> dict[int, int]:
    """Edge: class, of one run."""
    data: Path = check.work / name
    check.run([VLWP, "run", "--lwprun=--windows=all", f"--data={data}", "--", PROGRAM, *arguments])
    status, text = check.text([LWPCTL, "export", "--format=afl", data])
    check.want(status == 0, f"lwpctl ends with status {status}")
    rows = re.findall(r"^(\d{6}):(\d)$", text, re.MULTILINE)
    check.want(len(rows) == len(text.splitlines()), "a line is not EDGE:CLASS")
    return {int(number): int(count) for number, count in rows}


def known_edges(check: Check) -> None:
    """A loop of ten turns, and one way or the other; all else is the same."""
    names = re.findall(r"^(\w+) . edges_(\w+)$", proc.output(["nm", PROGRAM]), re.MULTILINE)
    at = {name: int(address, 16) for address, name in names}
    left, again, right = (_map(check, name, *words) for name, words in (("l", ()), ("a", ()), ("r", ("x",))))
    check.say(f"{len(left)} edges, {len(right)} with an argument")
    check.want(left == again, "two runs of the same have other maps")
    both = {edge(at["back"], at["turn"]): CLASS_OF_9, edge(at["back"], None): 1}
    taken = {edge(at["branch"], at["left"]): 1}
    other = {edge(at["branch"], None): 1, edge(at["right"], at["join"]): 1}
    check.want(both.items() <= left.items() and both.items() <= right.items(), "the loop has other edges")
    check.want(dict(left.items() - right.items()) == taken, f"one way: {dict(left.items() - right.items())}")
    check.want(dict(right.items() - left.items()) == other, f"the other: {dict(right.items() - left.items())}")
