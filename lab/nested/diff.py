# SPDX-License-Identifier: GPL-2.0-or-later
"""The differential test: the same random programs in TCG and, in the nested lab, in KVM. What LWP leaves in their
memory must be the same to the byte."""

import difflib
import re
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

from lab.common.places import LAB
from lab.common.report import Check, tail
from lab.nested import l1, late
from lab.nested.l1 import L1
from lab.testing.suite import flatrun

TRACE = LAB / "nested/trace-l1.sh"

RECORD = re.compile(r"dump program (\d+): (ring [0-9a-f]* block [0-9a-f]*) .* (head .*)")
HISTOGRAM = re.compile(r"^ *# *(\d+ .*)", re.MULTILINE)
SUMMARY = re.compile(r" same ring and block;|programs the same;|the counter was read")


@dataclass(frozen=True)
class Programs:
    """Random programs, and how they are tested with counters."""

    seed: int
    first: int
    count: int
    words: tuple[str, ...] = ()  # more for the programs, as "spin=100" (guest-tests/flat/tests/diff.c)

    def command(self, accel: str, seconds: int) -> list[str]:
        """flatrun's command line for them."""
        words = " ".join([f"seed={self.seed}", f"first={self.first}", f"count={self.count}", *self.words])
        options = ("--only", "diff", "--verbose", "--seconds", seconds, "--args", words)
        return flatrun(*options, accel=accel)


def _run_both(check: Check, programs: Programs, lab: L1, place: Path) -> None:
    """Run them in both; the outputs are place/tcg.log and place/log, and trace-l1.sh leaves what it saw in
    place/share."""
    place.mkdir(parents=True, exist_ok=True)
    reference = place / "tcg.log"
    with reference.open("w", encoding="utf-8") as log:
        status = Check(log, place).call(programs.command("tcg", 900))
    _want_end(check, "TCG", status, reference)
    status = l1.boot_logged(lab, place, [TRACE, *programs.command("kvm", 9000)])
    _want_end(check, "KVM", status, place / "log")


def _want_end(check: Check, where: str, status: int, log: Path) -> None:
    if status:
        check.say("\n".join(tail(log, 20)))
    check.want(status == 0, f"flatrun in {where} ends with status {status}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").replace("\r", "")


def records(output: str) -> list[str]:
    """Of each program the number, ring, block, head and missed events."""
    return [f"program {number} {state} {rest}" for number, state, rest in RECORD.findall(output)]


def same_records(check: Check, programs: Programs, lab: L1, place: Path) -> None:
    """Run the programs in both and compare: the histogram, then what differs."""
    _run_both(check, programs, lab, place)
    output = _text(place / "tcg.log")
    check.say(textwrap.fill(", ".join(HISTOGRAM.findall(output)), 100))
    tcg, kvm = records(output), records(_text(place / "log"))
    same = len(set(tcg) & set(kvm))
    seeds = f"seed {programs.seed}, from number {programs.first}"
    check.say(f"{same} of {programs.count} programs leave the same ring and block; {seeds}")
    if same == programs.count:
        return
    check.say("\n".join(list(difflib.unified_diff(tcg, kvm, "TCG", "KVM", n=0, lineterm=""))[:20]))
    check.want(False, f"replay program N alone: ./vlwp soak diff {programs.seed} N 1")


def late_records(check: Check, programs: Programs, lab: L1, place: Path, permille: int) -> None:
    """The same with a counter that interrupts late. Records that KVM says it delivered late may differ; at most
    permille of a thousand may be late. The counter must have been used."""
    _run_both(check, replace(programs, words=(*programs.words, "records=1")), lab, place)
    traced = place / "share"
    overshoots = _text(traced / "overshoots")
    summary, wrong = late.compare(_text(place / "tcg.log"), _text(place / "log"), overshoots, permille)
    check.say("\n".join([*wrong, summary]))
    reads = int((traced / "reads").read_text(encoding="utf-8"))
    check.say(f"seed {programs.seed}, from number {programs.first}; the counter was read {reads} times")
    check.want(not wrong, "records differ that KVM does not call late, or too many are late")
    check.want(reads > programs.count, "the counter was not used")


def summaries(log: Path) -> list[str]:
    """The summaries in the log of a check."""
    return [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if SUMMARY.search(line)]
