# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp count gives the number however the program ends, and the program's status."""

import json
import shutil
from dataclasses import dataclass
from typing import Any

from lab.common import proc
from lab.common.places import HOST, TOP
from lab.common.report import Check, Report

LINE = "count gives the number however the program ends, and its status"
WAYS = HOST / "lab/testing/ways"
MORE = 400_000  # turns, of 2 instructions with a branch
LEFT = 8  # threads that work until they are ended: two in each of four processes


@dataclass
class Counted:
    """What `count --json` has printed."""

    status: int
    said: str
    result: dict[str, Any]

    def rest(self, event: str) -> int:
        """What the threads that their process ended counted."""
        return int(self.result["ended_by_process"]["counts"][event])

    def most(self, event: str) -> int:
        """What the busiest of the threads that ended by themselves counted."""
        return max(int(thread["counts"][event]) for thread in self.result["threads"])


def count(check: Check, options: list[str], *words: str, **stdio: Any) -> Counted:
    """Count instructions and branches of a program."""
    line: list[proc.Word] = [TOP / "vlwp", "count", "--json", "--events=instructions,branches", *options, "--", *words]
    status, text = check.text(line, stderr=True, **stdio)
    at = text.find('{\n  "command"')
    check.want(at >= 0, "no number")
    result, end = json.JSONDecoder().raw_decode(text[at:])
    return Counted(status, text[:at] + text[at:][end:], result)


def ways(check: Check) -> None:
    """The difference of two sizes is that of the loops, to the instruction, in the thread that ended by itself and in
    those that were ended. The first threads are left out: how long they wait for others decides what they execute."""
    small, large = (count(check, [], str(WAYS), "all", str(turns)) for turns in (100_000, 100_000 + MORE))
    for one in (small, large):
        check.want(one.status == 0 and one.result["statuses"] == [0], f"status {one.status}, {one.result['statuses']}")
        ended = one.result["ended_by_process"]["threads"]
        # The killed processes' first threads did not end either.
        check.want(ended == LEFT + 2, f"{ended} threads that their process ended, wanted {LEFT + 2}")
    for event, per_turn in (("instructions", 2), ("branches", 1)):
        more = large.most(event) - small.most(event)
        check.want(more == MORE * per_turn, f"{more} {event} more, the truth is {MORE * per_turn}")
        more = large.rest(event) - small.rest(event)
        check.want(more == LEFT * MORE * per_turn, f"{more} {event} more in threads that were ended")
        for one in (small, large):
            apart = sum(thread["counts"][event] for thread in one.result["threads"]) + one.rest(event)
            check.want(apart == one.result["runs"][0][event], f"{apart} {event} apart, not as many as together")


def joined(check: Check) -> None:
    """The processors have counted what the counters of all threads say, in each run."""
    one = count(check, ["--repeat=2", "--max=branches:1000"], str(WAYS), "joined", "100000")
    check.want(one.status == 5 and one.result["statuses"] == [5, 5], f"status {one.status}, {one.result['statuses']}")
    check.want("branches: " in one.said and "are more than 1000" in one.said, "no line about the limit")
    check.want(len(one.result["threads"]) == 2, f"threads: {one.result['threads']}")
    check.want(one.rest("instructions") == one.rest("branches") == 0, "the sum over the threads is another number")


STATUSES = {"exit 5": 5, "kill -9 $$": 137, "kill -SEGV $$": 139}


def statuses(check: Check) -> None:
    """Each is the program's, and its instructions are counted."""
    for script, wanted in STATUSES.items():
        one = count(check, [], "/bin/sh", "-c", script)
        check.want(one.status == wanted, f"{script}: status {one.status}, wanted {wanted}")
        check.want(one.result["runs"][0]["instructions"] > 10_000, f"{script}: {one.result['runs']}")


def children(check: Check) -> None:
    """One that is killed, and one that lives on: it is counted until then, and not in the next run."""
    one = count(check, [], "/bin/bash", "-c", "sleep 100 & kill $!")
    check.want(one.status == 0 and not one.result["still_running"], f"killed: status {one.status}, {one.result}")
    script = "while :; do :; done & exit 3"
    one = count(check, ["--repeat=2"], "/bin/sh", "-c", script)
    check.want(one.result["statuses"] == [3, 3] and one.status == 3, f"statuses {one.result['statuses']}")
    check.want(one.result["still_running"] == 1, f"still running: {one.result['still_running']}")
    check.want(one.rest("instructions") > 0, "the child that is left counts nothing")


def inputs(check: Check) -> None:
    """Three runs and one more for taken branches."""
    source = check.work / "lines"
    source.write_text("line\n" * 2000, encoding="ascii")
    with source.open("rb") as file:
        one = count(check, ["--repeat=3", "--taken"], "/usr/bin/wc", "-l", stdin=file)
    runs = [(run["instructions"], run["branches"]) for run in one.result["runs"]]
    check.want(one.status == 0 and one.said.count("2000\n") == 1, f"status {one.status}, {one.said}")
    check.want(len(runs) == 3 and len(set(runs)) == 1, f"the runs differ: {runs}")
    check.want(0 < one.result["runs"][0]["taken-branches"] < runs[0][1], "the run for taken branches has no input")


VIRTUAL_MACHINES = {"java": ("-version",), "node": ("-e", "console.log(1)")}


def run(report: Report) -> None:
    """All of them."""
    report.check("count: exact for threads that exit, a signal, a fault or an exec of another thread ends", ways)
    report.check("count: the processors count what the threads' counters say", joined)
    report.check("count: the status of the program, with its number", statuses)
    report.check("count: children that are killed, and children that live on", children)
    report.check("count: each run gets the same input", inputs)
    for name, words in VIRTUAL_MACHINES.items():
        if shutil.which(name):
            report.check(f"count: a number for {name}", _virtual_machine, name, *words)
        else:
            report.skip(f"count: a number for {name}, which is not installed")


def _virtual_machine(check: Check, *words: str) -> None:
    one = count(check, [], *words)
    check.want(one.status == 0 and one.result["ended_by_process"]["threads"] > 0, f"status {one.status}")
    check.want(one.rest("instructions") > 0 and not one.result["not_counted"], f"{one.result['ended_by_process']}")
