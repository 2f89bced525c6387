# SPDX-License-Identifier: GPL-2.0-or-later
"""pmcbench in a guest: its tables beside what its snippets are made of."""

import re

from lab.common.places import LINUX_PROGRAMS
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP

PMCBENCH = LINUX_PROGRAMS / "pmcbench/pmcbench"
CPU = "--cpu=pmu=on,+perfctr-core,+perfmon-v2"
SCRIPT = """
"$0" --runs=2000 --event=instructions,branches,taken,conditional,far,cycles
"$0" --runs=2000 --snippet=loop10 --event=instructions,branches,conditional
"$0" --runs=2000 --snippet=call --event=branches,instructions
"$0" --runs=100 --lwp --event=instructions,branches,taken
"$0" --runs=100 --lwp --snippet=loop10 --event=branches,taken,instructions
"$0" --event=instructions,r0040 2>&1 || echo "status $?"
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


def test_pmcbench() -> None:
    """Its tables are what its snippets are made of, by RDPMC and in LWP's records. It refuses an event without a model.

    Of the counts above the floor, the smallest of each event is what the snippet has, since interrupts add branches and
    far transfers; of instructions all are."""
    text = good([VLWP, "shell", CPU, "--", "/bin/sh", "-ec", SCRIPT, PMCBENCH])
    assert "no model of event r0040" in text and "status 77" in text
    assert measured(text) == {key: [value] * (3 if key[1] == "instructions" else 1) for key, value in WANTED.items()}


# A measurement of four NOPs on Zen 2: six events at once, the code out of the caches.
SIX = {"ops": 4, "dispatched": 4, "instructions": 4, "cycles": 1, "interrupts": 0, "smis": 0}


def test_measurement() -> None:
    """pmcbench repeats a measurement of four NOPs on Zen 2.

    The differences between the most frequent values are those of the measurement."""
    options = [f"--event={','.join(SIX)}", "--flush", "--runs=4096"]
    text = good([VLWP, "shell", CPU, "--pmu-model=ipc=4", "--", PMCBENCH, *options])
    rows = [line.split() for line in text.splitlines()]
    assert {row[0]: int(row[8]) for row in rows if len(row) == 10 and row[0] in SIX} == SIX
