# SPDX-License-Identifier: GPL-2.0-or-later
"""What random programs left in their rings in TCG, and with counters that interrupt late (the flat test `diff` with
records=1): each record that differs is one that KVM has called late, and none is lost."""

import re
from dataclasses import dataclass, field

PROGRAM = re.compile(r"# dump program (\d+): (ring \w+ block \w+) .* (head \w+ missed (\w+) due (\d+))")
OVERSHOOT = re.compile(r" event (\d+) names (?:0x)?([0-9a-f]+)")
SAMPLED = (2, 3)  # the events instructions and branches
FIRST = 100  # records, before the margin is found

Record = tuple[int, ...]  # its first 8 bytes, its address, its target


@dataclass
class Program:
    """One, and its records. What is due would have had a record if the program had continued."""

    state: tuple[str, ...]
    missed: int
    due: int
    records: list[Record] = field(default_factory=list)


def programs(output: str) -> list[Program]:
    """Those of a run."""
    found: list[Program] = []
    for line in output.splitlines():
        if program := PROGRAM.search(line):
            number, hashes, end, missed, due = program.groups()
            found.append(Program((number, hashes, end), int(missed, 16), int(due)))
        elif found and "# record " in line:
            first, address, target = line.partition("# record ")[2].split()[:3]
            found[-1].records.append((int(first, 16), int(address, 16), int(target, 16)))
    return found


def common(a: list[Record], b: list[Record]) -> tuple[set[int], set[int]]:
    """The places in both of a longest common subsequence."""
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        row, below = longest[i], longest[i + 1]
        for j in reversed(range(len(b))):
            row[j] = below[j + 1] + 1 if a[i] == b[j] else max(below[j], row[j + 1])
    i, j = 0, 0
    places: tuple[set[int], set[int]] = set(), set()
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            places[0].add(i)
            places[1].add(j)
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return places


class Comparison:
    """What it has found so far."""

    def __init__(self, overshoots: list[tuple[int, int]]):
        self.overshoots = overshoots  # event and address; address 0: it was not known when it was traced
        self.next = self.same = self.differ = self.records = self.early = 0
        self.wrong: list[str] = []

    def named(self, event: int, address: int) -> bool:
        """Is it the next overshoot but for some that made no difference?"""
        for i in range(self.next, len(self.overshoots)):
            if self.overshoots[i] in ((event, 0), (event, address)):
                self.next = i + 1
                return True
        return False

    def take(self, want: Program, got: Program) -> None:
        """The next program, in both."""
        number = got.state[0]
        if same := want.state == got.state:
            self.same += 1
        in_want, in_got = (set(), set()) if same else common(want.records, got.records)
        late, lost = (0, 0) if same else (len(got.records) - len(in_got), len(want.records) - len(in_want))
        for i, (first, address, _) in enumerate(got.records):
            event = first & 0xFF
            self.records += event in SAMPLED
            if same or i in in_got:
                continue
            if self.named(event, address):
                self.early += self.records <= FIRST
            else:
                what = f"record {i} (event {event}, {address:#x})"
                self.wrong.append(f"program {number}: {what} is not the reference's, nor counted as late")
        self.differ += late
        if lost + want.missed + want.due > late + got.missed + got.due:
            counts = [f"{len(one.records)} records, {one.missed} missed and {one.due} due" for one in (got, want)]
            self.wrong.append(f"program {number}: {' instead of '.join(counts)}")
        if not same and not late and not lost:
            self.wrong.append(f"program {number}: the records are the same, ring or block are not")


def compare(reference: str, tested: str, traced: str, permille: int) -> tuple[str, list[str]]:
    """A program whose ring, block and missed events are not the same must have been late: each record that the
    reference does not have, by a longest common subsequence, is named by an overshoot, in the order of the trace; and
    none is lost but those that were missed instead, or whose event is late beyond the program's end. At most permille
    of the sampled records after the first may overshoot; 0: none at all. Result: a summary, and what is wrong."""
    found = [OVERSHOOT.search(line) for line in traced.splitlines()]
    c = Comparison([(int(one[1]), int(one[2], 16)) for one in found if one])
    want, got = programs(reference), programs(tested)
    if None in found or not want or len(want) != len(got):
        c.wrong.append("there are no programs, not the same, or a line of the trace is no overshoot")
    for pair in zip(want, got):
        c.take(*pair)
    late, of = len(c.overshoots) - c.early, max(c.records - FIRST, 0)
    if late * 1000 > permille * of if permille else c.overshoots:
        c.wrong.append(f"more than {permille} of a thousand are late")
    first = f"{c.same} of {len(want)} programs the same; {len(c.overshoots)} overshoots, {c.differ} records differ"
    share = 100 * late / of if of else 0
    return f"{first}; after the first {FIRST}: {late} of {of} ({share:.2f}%)", c.wrong
