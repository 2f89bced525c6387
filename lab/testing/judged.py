# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles beside valgrind's callgrind, which simulates the same program: the order of the hottest functions, and how
many instructions there are altogether. Functions are the frame descriptions of .eh_frame, which stripped programs have
too. The C library and the loader are left out: they see another processor under valgrind and choose other functions,
and the loader's first work is before lwprun's. A repeated string instruction is one instruction."""

import csv
import json
import re
import shlex
import shutil
import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.common.places import LWPCTL, TOP
from lab.common.report import Check, Report

# Low bits of each interval are drawn at random, or loops fall into step with it. 65 to 128 instructions: 96.5.
INTERVAL, RANDOM = 127, 6
TOP_FUNCTIONS = 20
CORRELATION = 0.97  # Spearman's, at least
TOTALS = 0.001  # of the instructions, how far they may be apart
NOT_COMPARED = re.compile(r"/(libc|libm|ld-linux-x86-64|liblwprun|vgpreload\w*)[-.\w]*$|^[^/]|^$")
# A repeated string instruction, of which callgrind counts each turn.
REPEATED = re.compile(rb"[\xf2\xf3][\x40-\x4f]?[\xa4-\xa7\xaa-\xaf]")
LONGEST = 15  # bytes of an instruction
PT_LOAD, PT_GNU_EH_FRAME = 1, 0x6474E550
HASH_SEEDS = {"PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0"}

Costs = dict[tuple[str, int], int]  # by object and function


@dataclass(frozen=True)
class Subject:
    """A program and its arguments."""

    name: str
    words: tuple[str, ...]
    totals: float = TOTALS


# Little of it is in the C library.
PERL = r"""for my $i (1 .. 20000) { $s = ($s * 31 + $i) % 65521; $w{$s % 700} += $i & 7; $n++ if $i =~ /7\d*3/;
$l[$i % 900] = $s ^ $i } @l = sort { $a <=> $b or $i <=> $j } @l; print "$n $l[77] ", scalar keys %w"""
SUBJECTS = (Subject("perl", ("/usr/bin/perl", "-e", PERL)),)


# ---- Functions -----------------------------------------------------------------------------------


class Object:
    """An ELF file of 64 bits: where its functions begin, from the table of .eh_frame_hdr, and its code."""

    def __init__(self, path: Path):
        self.data = path.read_bytes()
        self.segments: list[tuple[int, int, int]] = []  # offset, address, size
        self.starts: list[int] = []
        (headers,) = struct.unpack_from("<Q", self.data, 32)
        size, number = struct.unpack_from("<HH", self.data, 54)
        for at in range(headers, headers + size * number, size):
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", self.data, at)
            if kind == PT_LOAD:
                self.segments.append((offset, address, length))
            elif kind == PT_GNU_EH_FRAME:
                self.starts = self._table(offset, address)

    def _table(self, offset: int, address: int) -> list[int]:
        """The frames' address of 4 bytes, a number of 4 bytes, pairs of 4 bytes relative to the section."""
        version, pointer, count, table = struct.unpack_from("<4B", self.data, offset)
        if (version, pointer & 0x0F, count, table) != (1, 0x0B, 0x03, 0x3B):
            return []
        (number,) = struct.unpack_from("<I", self.data, offset + 8)
        return sorted(address + struct.unpack_from("<i", self.data, offset + 12 + 8 * i)[0] for i in range(number))

    def start(self, address: int) -> int:
        """Where the function begins that an address of the file is in; 0 if there is none."""
        place = bisect_right(self.starts, address)
        return self.starts[place - 1] if place else 0

    def repeats(self, address: int) -> bool:
        """Is the instruction there a repeated string instruction?"""
        for offset, start, size in self.segments:
            if start <= address < start + size:
                return bool(REPEATED.match(self.data, offset + address - start))
        return False


class Functions:
    """The functions of all objects."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}

    def of(self, path: str) -> Object:
        """A file, read once."""
        if path not in self.objects:
            self.objects[path] = Object(Path(path))
        return self.objects[path]


def _canonical(path: str) -> str:
    return str(Path(path).resolve()) if path.startswith("/") else path


# ---- Both ----------------------------------------------------------------------------------------


def _once(costs: dict[int, int], at: int) -> int:
    """How often an instruction was executed that callgrind has counted more than once: no more than its neighbours."""
    before = next((costs[other] for other in range(at - 1, at - LONGEST - 1, -1) if other in costs), None)
    after = next((costs[other] for other in range(at + 1, at + LONGEST + 1) if other in costs), None)
    return min(cost for cost in (costs[at], before, after) if cost is not None)


def _callgrind(check: Check, subject: Subject, functions: Functions) -> Costs:
    """Instructions of each function."""
    out = check.work / f"{subject.name}.callgrind"
    options = ["--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"]
    command = ["valgrind", "-q", "--tool=callgrind", *options, f"--callgrind-out-file={out}", *subject.words]
    check.run(command, env=HASH_SEEDS)
    return of_callgrind(out, functions)


def of_callgrind(out: Path, functions: Functions) -> Costs:
    """The same of callgrind's file."""
    objects: dict[str, dict[int, int]] = {}
    path, is_call = "", False
    with out.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("ob="):
                path = _canonical(line[3:].strip())
            elif line.startswith("calls="):
                is_call = True  # the next line has what was called
            elif line.startswith("0x"):
                if not is_call and not NOT_COMPARED.search(path):
                    address, cost = line.split()
                    at = int(address, 16)
                    objects.setdefault(path, {})[at] = objects.get(path, {}).get(at, 0) + int(cost)
                is_call = False
    costs: Costs = {}
    for path, addresses in objects.items():
        file = functions.of(path)
        for at, counted in addresses.items():
            key = path, file.start(at)
            costs[key] = costs.get(key, 0) + (_once(addresses, at) if file.repeats(at) else counted)
    return costs


def _profile(check: Check, subject: Subject) -> Path:
    """In a guest. What the program prints is nobody's."""
    data = check.work / f"{subject.name}.data"
    options = [f"--lwprun=--event=instructions:{INTERVAL}", f"--lwprun=--random={RANDOM}"]
    options += ["--lwprun=--ring-size=255M", "--lwprun=--max-threads=4"]
    seeds = " ".join(f"{name}={value}" for name, value in HASH_SEEDS.items())
    line = f"{seeds} {shlex.join(subject.words)} >/dev/null"
    words: list[str | Path] = [TOP / "vlwp", "run", *options, f"--data={data}", "--report-file=/dev/null"]
    check.run([*words, "--", "/bin/sh", "-c", line])
    return data


def _sampled(check: Check, subject: Subject, data: Path, functions: Functions) -> Costs:
    """The same of a profile."""
    status, text = check.text([LWPCTL, "report", "--json", "--limit=1", data])
    check.want(status == 0, f"lwpctl ends with status {status}")
    report = json.loads(text)
    name = Path(subject.words[0]).name[:15]
    (thread,) = [thread for thread in report["threads"] if thread["name"] == name]
    check.want(not thread["missed"], f"{thread['missed']} samples were missed")
    (event,) = report["events"]
    period = event["counted"] / event["samples"]
    out = check.work / f"{subject.name}.csv"
    check.run([LWPCTL, "export", "--format=csv", "--no-lines", f"--thread={thread['tid']}", "-o", out, data])
    samples: Costs = {}
    with out.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            path = _canonical(row["object"])
            if not NOT_COMPARED.search(path):
                key = path, functions.of(path).start(int(row["address"], 16))
                samples[key] = samples.get(key, 0) + int(row["samples"])
    return {key: round(number * period) for key, number in samples.items()}


# ---- The judgement -------------------------------------------------------------------------------


def _ranks(values: Sequence[int]) -> list[float]:
    """From 1 for the greatest; equal ones have the mean of theirs."""
    return [
        sum(other > value for other in values) + (sum(other == value for other in values) + 1) / 2 for value in values
    ]


def spearman(left: Sequence[int], right: Sequence[int]) -> float:
    """The correlation of the ranks of two lists."""
    x, y = _ranks(left), _ranks(right)
    mean = (len(x) + 1) / 2
    both = sum((a - mean) * (b - mean) for a, b in zip(x, y))
    squares = sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y)
    return float(both / squares**0.5)


def holds(check: Check, subject: Subject, report: Report | None = None) -> None:
    """The profile of a program is callgrind's."""
    functions = Functions()
    truth = _callgrind(check, subject, functions)
    costs = _sampled(check, subject, _profile(check, subject), functions)
    hottest = sorted(truth, key=lambda key: -truth[key])[:TOP_FUNCTIONS]
    for path, start in hottest:
        check.say(f"{truth[path, start]:12} {costs.get((path, start), 0):12} {path}+{start:#x}")
    order = spearman([truth[key] for key in hottest], [costs.get(key, 0) for key in hottest])
    wanted, total = sum(truth.values()), sum(costs.values())
    apart = total / wanted - 1
    line = f"{subject.name}: {wanted:,} instructions, {apart:+.3%}; ranks of {len(hottest)} functions: {order:.3f}"
    check.say(line)
    if report:
        report.line(line, 8)
    check.want(len(hottest) == TOP_FUNCTIONS, f"{subject.name} has no {TOP_FUNCTIONS} functions")
    check.want(order >= CORRELATION, f"the functions are in another order: {order:.3f}")
    check.want(abs(apart) <= subject.totals, f"{total:,} instructions, callgrind has {wanted:,}")


def line_of(subject: Subject) -> str:
    """What is checked."""
    return f"{subject.name}: functions in callgrind's order, and as many instructions"


def run(report: Report) -> None:
    """It needs valgrind."""
    for subject in SUBJECTS:
        if shutil.which("valgrind"):
            report.check(line_of(subject), holds, subject)
        else:
            report.skip(f"{line_of(subject)}: valgrind is not installed")
