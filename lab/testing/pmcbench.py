# SPDX-License-Identifier: GPL-2.0-or-later
"""pmcbench in a guest: its tables beside what its snippets are made of."""

import re
from pathlib import Path

from lab.common.places import LINUX_PROGRAMS, TOP
from lab.common.report import Check

GUEST = ("--smp=2", "--cpu=pmu=on,+perfctr-core,+perfmon-v2")
WIDE = ("--smp=2", "--cpu=pmu=on,+perfctr-core,+perfmon-v2,pmu-ipc=4")
RUNS = 2000

SCRIPT = """
"$0" --runs="$1" --event=instructions,branches,taken,conditional,far,cycles
"$0" --runs="$1" --snippet=loop10 --event=instructions,branches,conditional
"$0" --runs="$1" --snippet=call --event=branches,instructions
"$0" --runs=100 --lwp --event=instructions,branches,taken
"$0" --runs=100 --lwp --snippet=loop10 --event=branches,taken,instructions
"""

# (table, event) -> the smallest count above the floor; of instructions all counts are the same.
WANTED = {
    ("nop4", "instructions"): 4,
    ("nop4", "branches"): 0,
    ("nop4", "taken"): 0,
    ("nop4", "conditional"): 0,
    ("nop4", "far"): 0,
    ("nop4", "cycles"): 4,
    ("loop10", "instructions"): 21,
    ("loop10", "branches"): 10,
    ("loop10", "conditional"): 10,
    ("call", "branches"): 3,
    ("call", "instructions"): 3,
    ("nop4/lwp", "instructions"): 4,
    ("nop4/lwp", "branches"): 0,
    ("nop4/lwp", "taken"): 0,
    ("loop10/lwp", "branches"): 10,
    ("loop10/lwp", "taken"): 9,
    ("loop10/lwp", "instructions"): 21,
}


def tables(check: Check, work: Path) -> None:
    """What pmcbench prints in a guest with counters, into the file pmcbench in a folder."""
    program = LINUX_PROGRAMS / "pmcbench/pmcbench"
    command = [str(TOP / "vlwp"), "shell", *GUEST, "--", "/bin/sh", "-ec", SCRIPT, str(program), str(RUNS)]
    status, out = check.text(command)
    (work / "pmcbench").write_text(out, encoding="utf-8")
    check.want(status == 0, f"status {status}")


def measured(text: str) -> dict[tuple[str, str], list[int]]:
    """Of each table and event the smallest count above the floor, and of instructions also the other two columns."""
    found: dict[tuple[str, str], list[int]] = {}
    table = ""
    for line in text.splitlines():
        fields = line.split()
        if " runs on CPU " in line:
            table = fields[0] + ("/lwp" if "LWP" in line else "")
        elif len(fields) == 10 and fields[0] != "event" and not fields[0].endswith(":"):
            columns = fields[7:10] if fields[0] == "instructions" else fields[7:8]
            if all(re.fullmatch(r"-?\d+", column) for column in columns):
                found[table, fields[0]] = [int(column) for column in columns]
    return found


def right(check: Check, work: Path) -> None:
    """Of the counts above the floor, the smallest of each event is what the snippet has, since interrupts add
    branches and far transfers; of instructions all are."""
    found = measured((work / "pmcbench").read_text(encoding="utf-8"))
    check.say(found)
    wanted = {key: [value] * (3 if key[1] == "instructions" else 1) for key, value in WANTED.items()}
    differ = {key: (found.get(key), value) for key, value in wanted.items() if found.get(key) != value}
    check.want(not differ and found.keys() == wanted.keys(), f"measured, wanted: {differ or found.keys()}")


# A measurement of four NOPs on Zen 2: six events at once, the code out of the caches.
SIX = {"ops": 4, "dispatched": 4, "instructions": 4, "cycles": 1, "interrupts": 0, "smis": 0}


def measurement(check: Check) -> None:
    """The differences between the most frequent values are those of the measurement."""
    program = str(LINUX_PROGRAMS / "pmcbench/pmcbench")
    options = [f"--event={','.join(SIX)}", "--flush", "--runs=4096"]
    status, out = check.text([str(TOP / "vlwp"), "shell", *WIDE, "--", program, *options])
    check.want(status == 0, f"status {status}")
    rows = [line.split() for line in out.splitlines()]
    found = {row[0]: int(row[8]) for row in rows if len(row) == 10 and row[0] in SIX}
    check.want(found == SIX, f"measured: {found}, wanted: {SIX}")


def refused(check: Check) -> None:
    """An event of which TCG has no model is refused in words."""
    program = str(LINUX_PROGRAMS / "pmcbench/pmcbench")
    command = [str(TOP / "vlwp"), "shell", *GUEST, "--", program, "--event=instructions,r0040"]
    status, out = check.text(command, stderr=True)
    check.want(status == 77, f"status {status}")
    check.want("no model of event r0040" in out, "the event is not named")
