# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the flat tests whose block, ring, operands, stack or page tables lie elsewhere than in plain RAM
(guest-tests/flat/kernel/place.h). No such row ends the emulator, loses a processor, or changes what the programs
compute; and it passes as usual, unless LWP goes off there."""

import random
import re
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from lab.common.report import Check, Report
from lab.common.steps import jobs_count
from lab.testing.part import Case, quoted
from lab.testing.suite import FAILED, PASSED

USUAL = ("data", "end", "table", "watched", "written")
# Places at which LWP goes off, and where the programs compute the same.
OFF = {"block": "block-hole", "ring": "ring-hole"}
# Rows that place nothing: code that changes, and loads for other programs.
LEFT_OUT = ("code_", "bench")
# Parts of rows' names. Loads of a device are no misses; contexts are looked for through tables in RAM only.
OTHERWISE = {"data": "dcache", "table": "collect"}
# Rows whose programs read clocks, are interrupted, or have physical addresses in registers; that read their ring, or
# map block or ring once more, which is then memory beside block-hole and ring-hole; and whose LOCK ADC faults, as a
# read where QEMU executes it alone, and as a write elsewhere (error code of #PF).
DIFFER = (
    "alone", "self_smp", "ire_special", "budget", "async", "context_verify", "dcache", "la57", "find_mmio_table",
    "rev07_dcache",
)
ENDED = (PASSED, FAILED, 5)  # passed, failed, bailed out: the guest has come to its end
SECONDS = 180


def _argv(command: Sequence[str], place: str) -> list[str]:
    argv = [*command, "-device", "pc-testdev"]
    argv[argv.index("-append") + 1] += f" place={place}"
    if place == "written":
        at = argv.index("-smp") + 1
        argv[at] = str(int(argv[at]) + 1)
    return argv


def _registers(check: Check, argv: Sequence[str], statuses: Collection[int]) -> str:
    """The sum of the registers with which the programs come back."""
    check.say(quoted(argv))
    status, text = check.text(["timeout", str(SECONDS), *argv], stderr=True)
    check.want(status != 124, f"no end after {SECONDS} s: a processor is lost")
    check.want(status in statuses, f"the emulator ends with status {status}")
    return "".join(re.findall(r"^# registers (.*?)\r?$", text, re.MULTILINE))


def _placed(name: str, command: Sequence[str], place: str, report: Report) -> None:
    def judge(check: Check) -> None:
        otherwise = place in OFF or (place in OTHERWISE and OTHERWISE[place] in name)
        statuses = ENDED if otherwise else (PASSED,)
        there = _registers(check, _argv(command, place), statuses)
        check.want(there or otherwise, "it does not tell the registers of its programs")
        elsewhere = _registers(check, _argv(command, OFF.get(place, "ram")), statuses)
        check.want(
            there == elsewhere or otherwise and place in OTHERWISE or name.startswith(DIFFER),
            f"registers of the programs: {there}, elsewhere {elsewhere}",
        )

    report.check(f"{name}@{place}", judge)


def cases(rows: Sequence[tuple[str, list[str]]]) -> list[Case]:
    """Each row, a name and its command line, at each place."""
    return [
        Case(f"{name}@{place}", "", partial(_placed, name, command, place), quoted(_argv(command, place)))
        for name, command in rows if not name.startswith(LEFT_OUT) for place in (*USUAL, *OFF)
    ]


def tenth(every: Sequence[Case], seed: int) -> list[Case]:
    """A random tenth of them, in the seed's order."""
    return random.Random(seed).sample(every, len(every) // 10)


def run(chosen: Sequence[Case], report: Report, seconds: float = float("inf")) -> None:
    """Run them, some at a time; none begins after so many seconds."""
    over = time.monotonic() + seconds

    def one(case: Case) -> None:
        if time.monotonic() < over:
            case.go(report)

    with ThreadPoolExecutor(jobs_count()) as pool:
        list(pool.map(one, chosen))
