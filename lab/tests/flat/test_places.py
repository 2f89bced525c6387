# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the flat tests whose block, ring, operands, stack or page tables lie elsewhere than in plain RAM
(guest-tests/flat/kernel/place.h). No such row ends the emulator, loses a processor, or changes what the programs
compute; and it passes as usual, unless LWP goes off there.

A random tenth of them, for 20 seconds; `./vlwp soak places` has all."""

import random
import re
import time
from collections.abc import Collection, Sequence

import pytest

from lab.common import proc
from lab.testing.suite import FAILED, PASSED, ROWS, Row, command
from lab.tests.conftest import run
from lab.tests.plugin import Points, Tell, shows

USUAL = ("data", "end", "table", "watched", "written")
# Places at which LWP goes off, and where the programs compute the same.
OFF = {"block": "block-hole", "ring": "ring-hole"}
# Rows that place nothing: code that changes, and loads for other programs.
LEFT_OUT = ("code_", "bench")
# Parts of rows' names. Loads of a device are no misses; contexts are looked for through tables in RAM only.
OTHERWISE = {"data": "cache", "table": "collect"}
# Rows whose programs read clocks, are interrupted, or have physical addresses in registers; that read their ring, or
# map block or ring once more, which is then memory beside block-hole and ring-hole; and whose LOCK ADC faults, as a
# read where QEMU executes it alone, and as a write elsewhere (error code of #PF).
DIFFER = (
    "alone", "self_smp", "ire_special", "budget", "async", "context_verify", "dcache", "la57", "find_mmio_table",
    "rev07_dcache",
)
ENDED = (PASSED, FAILED, 5)  # 5: bailed out; the guest has come to its end
SECONDS = 180
TEST_SECONDS = 20
PLACED = [
    (row, place)
    for row in ROWS if row.offered("tcg") and not row.name.startswith(LEFT_OUT) for place in (*USUAL, *OFF)
]


def elsewhere(argv: Sequence[str], place: str) -> list[str]:
    """The command line of a row with its memory there."""
    result = [*argv, "-device", "pc-testdev"]
    result[result.index("-append") + 1] += f" place={place}"
    if place == "written":
        at = result.index("-smp") + 1
        result[at] = str(int(result[at]) + 1)
    return result


def registers(argv: Sequence[str], statuses: Collection[int]) -> str:
    """The sum of the registers with which the programs come back."""
    ended = run(argv, SECONDS)
    assert ended.status != 124, f"no end after {SECONDS} s: a processor is lost"
    assert ended.status in statuses, f"the emulator ends with status {ended.status}"
    return "".join(re.findall(r"^# registers (.*?)\r?$", ended.out, re.MULTILINE))


def judge(row: Row, place: str) -> None:
    """A row at a place."""
    otherwise = place in OFF or (place in OTHERWISE and OTHERWISE[place] in row.name)
    statuses = ENDED if otherwise else (PASSED,)
    there = registers(elsewhere(command(row), place), statuses)
    assert there or otherwise, "it does not tell the registers of its programs"
    usual = registers(elsewhere(command(row), OFF.get(place, "ram")), statuses)
    assert there == usual or otherwise and place in OTHERWISE or row.name.startswith(DIFFER)


@shows(lambda row, place: "", lambda row, place: proc.quoted(elsewhere(command(row), place)))
@pytest.mark.soak
@pytest.mark.parametrize("row, place", PLACED, ids=[f"{row.name}@{place}" for row, place in PLACED])
def test_place(row: Row, place: str) -> None:
    judge(row, place)


def test_places(seed: int, points: Points, tell: Tell) -> None:
    """A random tenth of ./vlwp soak places, for 20 s: rows whose memory lies in devices and other odd places."""
    over, done, wrong = time.monotonic() + TEST_SECONDS, 0, []
    for row, place in random.Random(seed).sample(PLACED, len(PLACED) // 10):
        if time.monotonic() > over:
            break
        done += 1
        try:
            judge(row, place)
        except AssertionError as err:
            wrong.append(f"{row.name}@{place}: {err}")
    points(done - len(wrong), len(wrong), 0)
    tell(f"{done} rows at places; each alone: ./vlwp soak places ROW@PLACE")
    assert done and not wrong, "\n".join(wrong)
