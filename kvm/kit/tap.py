# SPDX-License-Identifier: GPL-2.0-or-later
"""What the programs of kvm/tests print: TAP."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Tap:
    """The results of one program."""

    passed: int
    failed: int
    complete: bool  # it has said how many there are
    shown: list[str]  # what failed, with the two lines after it
    notes: list[str]  # what it draws, and what it measures


def read(text: str) -> Tap:
    """The results in a program's output."""
    lines = text.splitlines()
    failed = [i for i, line in enumerate(lines) if line.startswith("not ok ")]
    shown = sorted({i + n for i in failed for n in range(3) if i + n < len(lines)})
    return Tap(
        sum(line.startswith("ok ") for line in lines),
        len(failed),
        any(line.startswith("1..") for line in lines),
        [lines[i] for i in shown],
        [line for line in lines if re.match("# (seed|each |exact: )", line)],
    )
