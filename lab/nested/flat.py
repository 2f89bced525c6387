# SPDX-License-Identifier: GPL-2.0-or-later
"""The flat suite under KVM, stepped, in one L1."""

import re
from collections.abc import Sequence
from pathlib import Path

from lab.common.report import CLOSING, Report
from lab.nested import l1
from lab.nested.l1 import L1
from lab.testing.suite import ROWS, flatrun, only

COMPLAINT = "nested lab: L1's kernel complains"  # in-l1.sh


def offered() -> list[str]:
    """The rows that KVM offers what they need."""
    return [row.name for row in ROWS if row.offered("kvm")]


def command(rows: Sequence[str]) -> list[str]:
    """The command line of the suite, or of rows of it, in L1."""
    return flatrun("--jobs", 1, "--seconds", 360, *only(rows), accel="kvm")


def run(work: Path, rows: Sequence[str], lab: L1) -> None:
    """Run it, for results()."""
    l1.boot_logged(lab, work / "flat", command(rows))


def results(report: Report, name: str, log: Path) -> None:
    """Count what flatrun found and show the lines that are no success."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    for line in text.splitlines():
        if not re.match(r"pass|skip|\d* passed", line):
            report.line(line, 8)
    closings = list(CLOSING.finditer(text))
    if report.add_closing(text, name):
        report.line(f"{name}: {closings[-1][0]}")
    if COMPLAINT in text:
        report.not_ok(f"{name}: the kernel of L1 complains")
