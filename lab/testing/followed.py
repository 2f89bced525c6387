# SPDX-License-Identifier: GPL-2.0-or-later
"""lwprun without a library: static programs, and processes that run already, with all that comes of them."""

import json
from pathlib import Path
from typing import Any

from lab.common.places import LINUX_PROGRAMS, LWPCTL, LWPRUN, TOP
from lab.common.report import Check, Report

VLWP = TOP / "vlwp"
FOLLOWED, STATIC = LINUX_PROGRAMS / "followed", LINUX_PROGRAMS / "followed_static"
EVENT = "instructions:1009"
WORK = 6_000_000  # instructions of each function of the program
LINE = "static programs, and processes that run already, are profiled with all threads and children"

# lwprun is told to end before the program is.
ATTACH = """
"$1" 0 >/tmp/out & program=$!
until grep -q ready /tmp/out; do sleep 0.1; done
"$2" -q --pid "$program" -e "$3" -m 4M -o "$VLWP_SHARE/lwp.data" & lwprun=$!
until grep -q "TracerPid:.*$lwprun" "/proc/$program/status"; do sleep 0.1; done
sleep 1; kill -TERM "$lwprun"; wait "$lwprun"; echo "lwprun $?"
grep TracerPid "/proc/$program/status"
kill -TERM "$program"; wait "$program"; echo "status $?"; cat /tmp/out
"$4" report --json "$VLWP_SHARE/lwp.data"
"""


def _report(text: str) -> dict[str, Any]:
    return dict(json.loads(text[text.index("\n{"):]))


def _samples(report: dict[str, Any]) -> dict[str, int]:
    """Of the functions of the program that work."""
    rows = report["events"][0]["symbols"]
    return {row["symbol"]: row["samples"] for row in rows if row["symbol"].startswith("work_")}


def _static(check: Check) -> None:
    """Each function has its instructions, in a thread or process of its own, and what the program sees is right."""
    data: Path = check.work / "lwp.data"
    options = [f"--lwprun=--event={EVENT}", f"--data={data}", "--report=--json"]
    status, text = check.text([VLWP, "run", *options, "--", STATIC])
    check.want(status == 5, f"status {status}, wanted 5")
    report = _report(text)
    for name, samples in _samples(report).items():
        check.want(abs(samples * 1010 - WORK) < WORK / 20, f"{name}: {samples} samples")
    check.want(len(_samples(report)) == 4, f"functions {_samples(report)}")
    check.want(len(report["programs"]) == 3 and len(report["threads"]) == 4, "not 3 processes with 4 threads")


def _attached(check: Check) -> None:
    """Both threads of a process, whose counters are exact at the end; the process goes on and is itself."""
    words: list[str | Path] = ["/bin/sh", "-c", ATTACH, "-", FOLLOWED, LWPRUN, EVENT, LWPCTL]
    status, text = check.text([VLWP, "shell", "--", *words])
    check.want(status == 0, f"status {status}")
    for line in ("lwprun 0", "TracerPid:\t0", "status 0", "told to end"):
        check.want(line in text, f"no '{line}'")
    report = _report(text)
    samples = _samples(report)
    check.want(min(samples.get("work_main", 0), samples.get("work_thread", 0)) > 100, f"samples {samples}")
    counters = [thread["counters"][0] for thread in report["threads"]]
    check.want(len(counters) == 2 and all("final" in counter for counter in counters), f"counters {counters}")


def run(report: Report) -> None:
    """All of them."""
    report.check("a static program is profiled with its thread, its child and what it executes", _static)
    report.check("a process that runs already is profiled, and goes on without lwprun", _attached)
