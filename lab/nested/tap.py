# SPDX-License-Identifier: GPL-2.0-or-later
"""What the programs of kvm/tests print: TAP."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from lab.common.report import Report, tail
from lab.nested import l1
from lab.nested.programs import Run
from lab.testing import seeds


@dataclass(frozen=True)
class Tap:
    """The results of one program."""

    passed: int
    failed: int
    complete: bool  # it has said how many there are
    shown: list[str]  # what failed, with the two lines behind it
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
        [line for line in lines if re.match("# (seed|each |lateness |exact: )", line)],
    )


def judge(report: Report, name: str, log: Path, status: int) -> None:
    """Report a program's results: every line counts."""
    tap = read(log.read_text(encoding="utf-8", errors="replace"))
    report.add(tap.passed, tap.failed, 0)
    for line in tap.shown:
        report.line(line, 8)
    if tap.complete and status == int(tap.failed > 0):  # 1 without a failed test: L1's kernel complains
        report.line(f"{name}: {tap.passed} of {tap.passed + tap.failed}")
    else:
        report.not_ok(f"{name} ended early", tail(log, 20))
    for line in tap.notes:
        report.line(line if line.startswith("# seed") else line.replace("#", "       ", 1))


def command(run: Run) -> list[str]:
    """The command line of a run, with a new seed where it takes one."""
    return [*run.command(), *([str(seeds.draw())] if run.result == "seeded-tap" else [])]


def boot(report: Report, run: Run, linux: str = "") -> None:
    """Run a program in a machine of its own, with the kernel of a base (the chosen one), and report its results."""
    place = report.work / f"{run.directory}{linux}"
    status = l1.boot_logged(replace(run.lab(), linux=linux), place, command(run))
    judge(report, f"{run.title}, Linux {linux}" if linux else run.title, place / "log", status)
