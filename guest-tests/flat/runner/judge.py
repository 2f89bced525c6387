#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test kernel's serial log amounts to: that of one row, or that of the suite that stands alone (kernel/suite.h).
It may be cut, or have anything in it: firmware and loaders write there, too.

judge.py LOG prints a TAP line for each row, with the points that are not ok below it, which rows have not run for want
of what, and the answers to the open questions. A point that is less sure than --level is observed only: another
implementation need not obey it. With --rules it also prints the rules that the points prove. --expect takes known
failures, a line each: ROW, ROW/POINT or RULE, and the reason; they do not fail, and one that passes does. The last line
is "N passed, N failed, N skipped". Exit status: 0, 1 failures or no row there, 2 a file cannot be read or written, 77
no row has run."""

import argparse
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from manifest import NEEDS
from table import ROWS

# isa-debug-exit turns the kernel's value v into exit status 2 * v + 1.
PASSED, FAILED = 1, 3
POINT = re.compile(r"(not )?ok(?: (\d+))? ?(?:- )?")
VALUES = re.compile(r"# +is ([0-9a-f]{1,16}), should be ([0-9a-f]{1,16})$")
ANSWER = re.compile(r"# answer (Q\d\d) [^:]{1,80}: ([a-z0-9 -]{1,60})(?:, and ([a-z0-9 -]{1,60}) in vlwp)?$")
CPUID = re.compile(r"# cpuid ([0-9a-f]{8}): ((?:[0-9a-f]{8} ){3}[0-9a-f]{8})$")
MSR = re.compile(r"# msr ([0-9a-f]{8}): ([0-9a-f]{16})$")
NOTES = 20  # that are shown of a row
NAME, LINE = 60, 1000  # columns that are read
SKIP = " # SKIP "
LEVELS = ("certain", "recalled", "choice")
RULES = re.compile(rf" \[((?:(?:43724|2007)-\d{{1,9}} )+)({'|'.join(LEVELS)})\]")
EXPECTED = re.compile(r"((?:43724|2007)-\d+|(\w+)(?:/[1-9]\d*)?)\s+(\S.*)")


def clean(text: str) -> str:
    """Text that goes to a terminal and is read as TAP."""
    return re.sub(r"[^ -~]|#", "?", text)


@dataclass
class Point:
    """A point of a row."""

    point: int
    text: str
    verdict: str  # ok, not ok, skip, observed: not ok, and may be so; expected: not ok, as --expect says
    rules: list[str]
    certainty: str
    why: str = ""
    question: str = ""
    answer: str = ""
    vlwp: str = ""  # its answer, if that is another

    def __str__(self) -> str:
        mark = f" [{' '.join([*self.rules, self.certainty])}]" if self.rules else ""
        if self.verdict == "observed":
            return f"observed: this processor: {self.text}: {self.why or 'not so'}{mark}"
        why = f": {self.why}" if self.verdict == "expected" else ""
        return f"{'expected: ' if why else ''}not ok {self.point} - {self.text}{mark}{why}"


@dataclass
class Result:
    """What became of a row, or what is wrong with the log besides."""

    row: str
    verdict: str  # ok, not ok, skip
    why: str = ""
    points: list[Point] = field(default_factory=list)


@dataclass
class Tap:
    """The points of a row."""

    level: str = LEVELS[-1]  # points that are less sure cannot fail
    told: list[Point] = field(default_factory=list)
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    started: bool = False
    plan: int | None = None
    bail: str = ""
    in_order: bool = True

    @property
    def points(self) -> int:
        """How many there are."""
        return len(self.told)

    def line(self, line: str) -> None:
        """Take a line."""
        if line.startswith("TAP version "):
            self.started = True
        elif line.startswith("Bail out! "):
            self.bail = line.removeprefix("Bail out! ")
        elif found := re.match(r"1\.\.(\d+)", line):
            self.plan = int(found[1])
        elif self.told and (found := VALUES.match(line)):
            self.told[-1].why = f"is {found[1]}, and {found[2]} in vlwp"
        elif self.told and (found := ANSWER.match(line)):
            self.told[-1].question, self.told[-1].answer, self.told[-1].vlwp = found.groups("")
        elif line.startswith(("ok ", "not ok ")):
            self._point(line)

    def may_differ(self, line: str) -> bool:
        """Has another implementation a choice there?"""
        found = RULES.search(line)
        return found is not None and LEVELS.index(found[2]) > LEVELS.index(self.level)

    def _point(self, line: str) -> None:
        found = POINT.match(line)
        assert found
        text, skip, why = line[found.end():].partition(SKIP.rstrip())
        mark = RULES.search(text)
        verdict = "skip" if skip else "ok"
        if found[1]:
            verdict = "observed" if self.may_differ(line) else "not ok"
        rules, certainty = (mark[1].split(), mark[2]) if mark else ([], "")
        point = Point(self.points + 1, clean(RULES.sub("", text)), verdict, rules, certainty, clean(why.strip()))
        self.told.append(point)
        self.passed += verdict in ("ok", "observed")
        self.failed += verdict == "not ok"
        self.skipped += verdict == "skip"
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


class Suite:
    """A log that is being judged."""

    def __init__(self, level: str = LEVELS[0], expect: Mapping[str, str] | None = None) -> None:
        self.level, self.expect = level, expect or {}
        self.results: list[Result] = []
        self.cpuid: dict[str, str] = {}  # EAX to EDX, by leaf
        self.msr: dict[str, str] = {}  # by number
        self.failing: dict[str, bool] = {}  # what is expected to fail and has run
        self.announced: int | None = None  # rows of the suite
        self.begun, self.ended = 0, False
        self.row: tuple[str, Tap] | None = None

    def _end_row(self) -> None:
        if not self.row:
            return
        name, tap = self.row
        self.row = None
        if tap.bail and tap.may_differ(tap.bail) and not tap.failed:
            tap.line(f"not ok - the row runs to its end ({tap.bail})")
            tap.bail, tap.plan = "", tap.points
        why = clean(_broken(name, tap))
        for point in tap.told:
            self._expected(point, name, tap)
        result = Result(name, "ok" if tap.passed else "skip", points=tap.told)
        if why and name in self.expect:
            self.failing[name] = True
            result = Result(name, "ok", f"expected: {why}: {self.expect[name]}", tap.told)
        elif why or tap.failed:
            result = Result(name, "not ok", why or f"{tap.failed} of {tap.plan} points", tap.told)
        elif not tap.passed:
            result.why = tap.told[0].why
        self.results.append(result)

    def _expected(self, point: Point, row: str, tap: Tap) -> None:
        for known in self.expect.keys() & {row, f"{row}/{point.point}", *point.rules}:
            if point.verdict == "not ok":
                point.verdict, point.why = "expected", self.expect[known]
                tap.failed, tap.passed = tap.failed - 1, tap.passed + 1
            if point.verdict != "skip":
                self.failing[known] = self.failing.get(known, False) or point.verdict != "ok"

    def _end(self) -> None:
        self._end_row()
        if self.announced is not None and (self.begun != self.announced or not self.ended):
            end = "" if self.ended else ", and not its end"
            why = f"{self.begun} rows of {self.announced} are in the log{end}"
            self.results.append(Result("the suite", "not ok", why))
        self.announced, self.begun, self.ended = None, 0, False

    def _line(self, line: str) -> None:
        if found := re.match(r"# suite: (\d+) rows", line):
            self._end()
            self.announced = int(found[1])
        elif found := CPUID.match(line):
            self.cpuid[found[1]] = found[2]
        elif found := MSR.match(line):
            self.msr[found[1]] = found[2]
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
            self._line(line[:LINE].rstrip("\r\n"))
        self._end()
        passing = [known for known, failing in self.failing.items() if not failing]
        self.results += [Result(known, "not ok", f"passes, unexpectedly: {self.expect[known]}") for known in passing]

    def tap(self, rules: bool) -> str:
        """The results for people."""
        lines, lacks, proved = ["TAP version 13"], dict[str, list[str]](), dict[str, list[int]]()
        for number, result in enumerate(self.results, 1):
            why = result.why and f"{SKIP if result.verdict == 'skip' else ': '}{result.why}"
            lines.append(f"{'not ok' if result.verdict == 'not ok' else 'ok'} {number} - {result.row}{why}")
            for verdict in ("not ok", "expected", "observed"):  # a question is observed below all rows
                told = (point for point in result.points if point.verdict == verdict)
                shown = [point for point in told if verdict != "observed" or not point.question]
                lines += [f"#   {point}" for point in shown[:NOTES]]
            need = result.why.removeprefix("needs ") if result.verdict == "skip" else ""
            if need in NEEDS:
                lacks.setdefault(f"{need} ({NEEDS[need].text})", []).append(result.row)
            for point in result.points:
                for rule in point.rules if point.verdict != "skip" else ():
                    proved.setdefault(rule, [0, 0])[point.verdict != "ok"] += 1
        lines += [f"# not run for want of {need}: {' '.join(rows)}" for need, rows in lacks.items()]
        counted = sorted(proved.items() if rules else ())
        lines += [f"# rule {rule}: {good} ok, {bad} not ok" for rule, (good, bad) in counted]
        for point in self._asked():
            beside = f"and {point.vlwp} in vlwp" if point.vlwp else "as vlwp"
            lines.append(f"# answer {point.question} {point.text}: {point.answer}, {beside} [{' '.join(point.rules)}]")
        passed, failed, skipped = self.sums()
        return "\n".join([*lines, f"1..{number}", f"{passed} passed, {failed} failed, {skipped} skipped", ""])

    def sums(self) -> tuple[int, int, int]:
        """Passed, failed, skipped rows."""
        words = [result.verdict for result in self.results]
        return words.count("ok"), words.count("not ok"), words.count("skip")

    def _asked(self) -> list[Point]:
        """The open questions that the log has answers to."""
        points = (point for result in self.results for point in result.points if point.question)
        return sorted(points, key=lambda point: point.question)

    def answers(self) -> str:
        """The answers, and whose they are."""
        name, version = "", int(self.cpuid.get("00000001", "0").split()[0], 16)
        if version:
            family, model = (version >> 8 & 15) + (version >> 20 & 255), (version >> 12 & 0xf0) + (version >> 4 & 15)
            name = f"fam{family:02x}h model {model:02x}h stepping {version & 15:x}"
        answers = {point.question: point.answer for point in self._asked()}
        return json.dumps({"processor": name, "answers": answers}, indent=1) + "\n"

    def json(self) -> str:
        """All verdicts for programs."""
        rows = [*map(asdict, self.results)]
        return json.dumps({"level": self.level, "cpuid": self.cpuid, "msr": self.msr, "rows": rows}, indent=1) + "\n"

    def junit(self) -> str:
        """The same for CI; a row is a case beside its points."""
        top = ElementTree.Element("testsuites")
        for result in self.results:
            cases = [(f"{point.point} {point.text}", point.verdict, point.why) for point in result.points]
            cases.append(("the row", result.verdict, result.why))
            words = [word for _, word, _ in cases]
            failed, skipped = words.count("not ok"), len(words) - words.count("ok") - words.count("not ok")
            sums = {"tests": f"{len(words)}", "failures": f"{failed}", "skipped": f"{skipped}"}
            suite = ElementTree.SubElement(top, "testsuite", {"name": result.row, **sums})
            for name, word, why in cases:
                case = ElementTree.SubElement(suite, "testcase", classname=result.row, name=name)
                for kind in {"ok": (), "not ok": ("failure",)}.get(word, ("skipped",)):
                    ElementTree.SubElement(case, kind, message=f"{word}: {why}")
        return ElementTree.tostring(top, encoding="unicode") + "\n"


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


def expected(lines: Iterable[str]) -> dict[str, str]:
    """What is known to fail, and why. ValueError: a line is something else."""
    rows, found = {row.name for row in ROWS}, {}
    for number, line in enumerate(lines, 1):
        if not (line := line.strip()) or line.startswith("#"):
            continue
        match = EXPECTED.fullmatch(line)
        if not match or match[2] and match[2] not in rows:
            raise ValueError(f"{number}: not ROW, ROW/POINT or RULE of this suite, and a reason: {clean(line)[:NAME]}")
        found[match[1]] = clean(match[3])
    return found


def main() -> int:
    """Judge a file."""
    parser = argparse.ArgumentParser(prog="judge.py", description=__doc__, allow_abbrev=False)
    parser.add_argument("--level", choices=LEVELS, default=LEVELS[0], help="how sure a rule must be (%(default)s)")
    parser.add_argument("--rules", action="store_true", help="the points of each rule, too")
    parser.add_argument("--expect", metavar="FILE", help="what is known to fail: ROW, ROW/POINT or RULE, and why")
    parser.add_argument("--json", metavar="FILE", help="write the verdicts of all points, and LWP's leaf of CPUID")
    parser.add_argument("--junit", metavar="FILE", help="write them as JUnit does, for CI")
    parser.add_argument("--answers", metavar="FILE", help="write the answers to the open questions")
    parser.add_argument("log", metavar="LOG")
    args = parser.parse_args()
    try:
        suite = Suite(args.level, expected(_text(args.expect)) if args.expect else {})
        suite.judge(_text(args.log))
        if not suite.results:
            print(f"judge: {args.log}: no row begins there; it should be the serial log of the suite", file=sys.stderr)
            return 1
        for name, form in ((args.json, suite.json), (args.junit, suite.junit), (args.answers, suite.answers)):
            if name:
                Path(name).write_text(form(), encoding="utf-8")
    except OSError as err:
        print(f"judge: cannot read or write {err.filename}: {err.strerror}", file=sys.stderr)
        return 2
    except ValueError as err:
        print(f"judge: {args.expect}:{err}", file=sys.stderr)
        return 2
    print(suite.tap(args.rules), end="")
    passed, failed, _ = suite.sums()
    return 1 if failed else 0 if passed else 77


def _text(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        yield from file


if __name__ == "__main__":
    sys.exit(main())
