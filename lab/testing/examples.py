# SPDX-License-Identifier: GPL-2.0-or-later
"""The example that people copy, a program that profiles its own threads: guest-tools/examples/selfprofile.c."""

import re

from lab.common.places import HOST, TOP
from lab.common.report import Check, Report

VLWP = TOP / "vlwp"
SELFPROFILE = HOST / "guest-tools/selfprofile"
LINE = "selfprofile profiles each of its threads, and says where there is no LWP"
RECORD = re.compile(r"^(\w+): event +(\d+) at 0x[0-9a-f]+ flags (\w+) data1 (\d+) data2 (\d+)\r?$", re.MULTILINE)
VALUE, INSTRUCTION, INSERTED = "1", "2", "255"
BEGINS = {"first": 0, "second": 100000}
PHASES, PHASE_VALUES = 3, 20000
LEAST, MOST = 3, 30  # instructions of a turn: a test, a branch, a sum; compiled without optimisation
PER_RECORD = 1_000_000  # instructions


def _collatz_steps(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = 3 * n + 1 if n % 2 else n // 2, steps + 1
    return steps


def _records(check: Check) -> None:
    """Each thread has marks of its phases, the 1st and the 10,001st of the 20,000 values in each of these, and a record
    for each million instructions; a turn of its loop takes some."""
    status, text = check.text([VLWP, "shell", "--smp=2", "--", SELFPROFILE])
    check.want(status == 0, f"status {status}")
    for name, begin in BEGINS.items():
        check.want(re.search(rf"^{name}: missed events: 0\r?$", text, re.MULTILINE), f"{name}: missed events")
        found: dict[str, list[tuple[str, int, int]]] = {VALUE: [], INSTRUCTION: [], INSERTED: []}
        for event, flags, data1, data2 in (record[1:] for record in RECORD.findall(text) if record[0] == name):
            found[event].append((flags, int(data1), int(data2)))
        check.want(found[INSERTED] == [("0x1000", 0, phase) for phase in range(PHASES)], f"{name}: {found[INSERTED]}")
        wanted = [("0x2000", n, _collatz_steps(begin + n)) for n in (1, 10001)] * PHASES
        check.want(found[VALUE] == wanted, f"{name}: values {found[VALUE]}, wanted {wanted}")
        turns = PHASES * sum(_collatz_steps(begin + n) for n in range(1, PHASE_VALUES + 1))
        each = len(found[INSTRUCTION]) * PER_RECORD / turns
        check.say(f"{name}: {len(found[INSTRUCTION])} records of instructions, {each:.2f} instructions a turn")
        check.want(LEAST <= each <= MOST, f"{name}: {each} instructions a turn")


def _refuses(check: Check) -> None:
    """It says so in one line and does not try the instructions."""
    status, text = check.text([VLWP, "shell", "--cpu=-lwp", "--", SELFPROFILE], stderr=True)
    check.want(status == 77 and "selfprofile: this processor does not offer LWP" in text, f"status {status}: {text}")


def run(report: Report) -> None:
    """With LWP and without."""
    report.check("selfprofile has the records of each of its threads", _records)
    report.check("selfprofile without LWP says so", _refuses)
