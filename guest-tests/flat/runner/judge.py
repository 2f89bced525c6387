#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test kernel's serial log amounts to: that of one row, or that of the suite that stands alone (kernel/suite.h).
It may be cut, or have anything in it: firmware and loaders write there, too.

judge.py LOG prints a TAP line for each row, with the points that are not ok below it, and which rows have not run for
want of what. A point that is less sure than --level is observed only: another implementation need not obey it. With
--rules it also prints the rules that the points prove. The last line is "N passed, N failed, N skipped". Exit status:
0, 1 failures or no row there, 2 it cannot be read, 77 no row has run."""

import argparse
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from manifest import NEEDS
from table import ROWS

# isa-debug-exit turns the kernel's value v into exit status 2 * v + 1.
PASSED, FAILED = 1, 3
POINT = re.compile(r"(not )?ok(?: (\d+))? ?")
NOTES = 20  # that are shown of a row
NAME = 60  # columns
SKIP = " # SKIP "
LEVELS = ("certain", "recalled", "choice")
RULES = re.compile(rf" \[((?:(?:43724|2007)-\d+ )+)({'|'.join(LEVELS)})\]")


@dataclass
class Tap:
    """The points of a row."""

    level: str = LEVELS[-1]  # points that are less sure cannot fail
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    started: bool = False
    plan: int | None = None
    bail: str = ""
    in_order: bool = True
    skip: str = ""  # why, for the first point that is
    notes: list[str] = field(default_factory=list)  # the points that are not ok
    observed: list[str] = field(default_factory=list)  # those that may be so
    rules: dict[str, list[int]] = field(default_factory=dict)  # points that are ok, and that are not

    @property
    def points(self) -> int:
        """How many there are."""
        return self.passed + self.failed + self.skipped

    def line(self, line: str) -> None:
        """Take a line."""
        if line.startswith("TAP version "):
            self.started = True
        elif line.startswith("Bail out! "):
            self.bail = line.removeprefix("Bail out! ")
        elif found := re.match(r"1\.\.(\d+)", line):
            self.plan = int(found[1])
        elif line.startswith(("ok ", "not ok ")):
            self._point(line)

    def may_differ(self, line: str) -> bool:
        """Has another implementation a choice there?"""
        found = RULES.search(line)
        return found is not None and LEVELS.index(found[2]) > LEVELS.index(self.level)

    def _point(self, line: str) -> None:
        found = POINT.match(line)
        assert found
        if SKIP.rstrip() not in line and (mark := RULES.search(line)):
            for number in mark[1].split():
                self.rules.setdefault(number, [0, 0])[bool(found[1])] += 1
        if found[1] and self.may_differ(line):
            self.passed += 1
            self.observed.append(line)
        elif found[1]:
            self.failed += 1
            self.notes.append(line)
        elif SKIP.rstrip() in line:
            self.skipped += 1
            self.skip = self.skip or line.partition(SKIP)[2]
        else:
            self.passed += 1
        self.in_order &= found[2] is None or int(found[2]) == self.points


def read(text: str) -> Tap:
    """The points in what a kernel has said."""
    tap = Tap()
    for line in text.replace("\r", "").split("\n"):
        tap.line(line)
    return tap


def verdict(tap: Tap, status: int | None) -> tuple[str, str]:
    """What a row amounts to: pass, skip, FAIL, or ERROR of the test itself, and why. status: of the emulator, negative
    for a signal; None: it was given up."""
    if tap.bail:
        return "ERROR", tap.bail
    if status is None and tap.started:
        return "FAIL", f"no end within the time limit, after {tap.points} points"
    why = ""
    if status is None:
        why = "the kernel did not start within the time limit"
    elif status < 0:
        why = f"QEMU was killed by signal {-status}"
    elif status not in (PASSED, FAILED):
        why = f"QEMU ended with status {status}"
    elif not tap.started:
        why = f"QEMU ended with status {status} before the kernel started"
    elif tap.plan is None:
        why = f"no plan after {tap.points} points"
    elif tap.plan != tap.points:
        why = f"{tap.points} points, but a plan of {tap.plan}"
    elif (status == FAILED) != (tap.failed > 0):
        why = f"{tap.failed} points failed, but status {status}"
    return ("ERROR" if why else "FAIL" if tap.failed else "pass" if tap.passed else "skip"), why


def clean(text: str) -> str:
    """Text that goes to a terminal and is read as TAP."""
    return re.sub(r"[^ -~]|#", "?", text)


class _Suite:
    """A log that is being judged."""

    def __init__(self, level: str) -> None:
        self.level = level
        self.lines: list[str] = []
        self.rules: dict[str, list[int]] = {}  # as of a row
        self.sums = {"ok": 0, "not ok": 0, "skip": 0}
        self.announced: int | None = None  # rows of the suite
        self.begun, self.ended = 0, False
        self.row: tuple[str, Tap] | None = None
        self.lacks: dict[str, list[str]] = {}  # rows that have not run, by need

    def _say(self, word: str, text: str) -> None:
        self.sums["skip" if SKIP in text else word] += 1
        self.lines.append(f"{word} {sum(self.sums.values())} - {text}")

    def _end_row(self) -> None:
        if not self.row:
            return
        name, tap = self.row
        self.row = None
        for rule, (good, bad) in tap.rules.items():
            sums = self.rules.setdefault(rule, [0, 0])
            self.rules[rule] = [sums[0] + good, sums[1] + bad]
        if tap.bail and tap.may_differ(tap.bail) and not tap.failed:
            self._say("ok", name)
            tap.observed.append(f"the row ends: {tap.bail}")
        elif why := _broken(name, tap):
            self._say("not ok", f"{name}: {clean(why)}")
        elif tap.failed:
            self._say("not ok", f"{name}: {tap.failed} of {tap.plan} points")
        else:
            self._say("ok", name if tap.passed else f"{name}{SKIP}{clean(tap.skip)}")
            need = "" if tap.passed else tap.skip.removeprefix("needs ")
            if need in NEEDS:
                self.lacks.setdefault(f"{need} ({NEEDS[need].text})", []).append(name)
        self.lines += [f"#   {clean(note)}" for note in tap.notes[:NOTES]]
        self.lines += [f"#   observed: {clean(note)}" for note in tap.observed[:NOTES]]

    def _end(self) -> None:
        self._end_row()
        if self.announced is not None and (self.begun != self.announced or not self.ended):
            end = "" if self.ended else ", and not its end"
            self._say("not ok", f"the suite: {self.begun} rows of {self.announced} are in the log{end}")
        self.announced, self.begun, self.ended = None, 0, False

    def _line(self, line: str) -> None:
        if found := re.match(r"# suite: (\d+) rows", line):
            self._end()
            self.announced = int(found[1])
        elif line.startswith("# suite: end"):
            self._end_row()
            self.ended = True
        elif line.startswith("# row "):
            self._end_row()
            self.begun += 1
            self.row = (clean(line.removeprefix("# row ")[:NAME]), Tap(self.level))
        elif self.row and self.row[1].plan is None and not self.row[1].bail:  # what comes after is not the row's
            self.row[1].line(line)

    def judge(self, lines: Iterable[str]) -> None:
        """All of it."""
        for line in lines:
            self._line(line.rstrip("\r\n"))
        self._end()


def _broken(name: str, tap: Tap) -> str:
    if tap.bail:
        return f"the test is broken: {tap.bail}"
    if tap.plan is None:
        return f"the row has no end, after {tap.points} points"
    if tap.plan != tap.points or not tap.in_order:
        return f"{tap.points} points, but a plan of {tap.plan}, or not in order: lines are missing"
    if not tap.points:
        return "no points"
    return "" if any(row.name == name for row in ROWS) else "this judge has no row of this name"


def judge(lines: Iterable[str], level: str = LEVELS[0], rules: bool = False) -> tuple[int, str]:
    """The exit status of a serial log, and TAP; 2 and nothing if no row begins there."""
    suite = _Suite(level)
    suite.judge(lines)
    passed, failed, skipped = suite.sums.values()
    if not suite.lines:
        return 2, ""
    not_run = [f"# not run for want of {need}: {' '.join(rows)}" for need, rows in suite.lacks.items()]
    proved = sorted(suite.rules.items() if rules else ())
    counted = [f"# rule {rule}: {good} ok, {bad} not ok" for rule, (good, bad) in proved]
    sums = f"{passed} passed, {failed} failed, {skipped} skipped"
    end = [*not_run, *counted, f"1..{passed + failed + skipped}", sums, ""]
    return 1 if failed else 0 if passed else 77, "\n".join(["TAP version 13", *suite.lines, *end])


def main() -> int:
    """Judge a file."""
    parser = argparse.ArgumentParser(prog="judge.py", description=__doc__, allow_abbrev=False)
    parser.add_argument("--level", choices=LEVELS, default=LEVELS[0], help="how sure a rule must be (%(default)s)")
    parser.add_argument("--rules", action="store_true", help="the points of each rule, too")
    parser.add_argument("log", metavar="LOG")
    args = parser.parse_args()
    path = args.log
    try:
        with open(path, encoding="utf-8", errors="replace", newline="\n") as log:
            status, text = judge(log, args.level, args.rules)
    except OSError as err:
        print(f"judge: cannot read {path}: {err.strerror}", file=sys.stderr)
        return 2
    if not text:
        print(f"judge: {path}: no row begins there; it should be the serial log of the suite", file=sys.stderr)
        return 1
    print(text, end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
