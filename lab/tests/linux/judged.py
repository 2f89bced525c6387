# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles beside valgrind's callgrind, which simulates the same program: the order of the hottest functions, and how
many instructions there are altogether. Functions are the frame descriptions of .eh_frame, which stripped programs have
too. The C library and the loader are left out: they see another processor under valgrind and choose other functions,
and the loader's first work is before lwprun's."""

import csv
import json
import re
import shlex
import statistics
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.common.places import LWPCTL
from lab.testing import callgrind
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP
from lab.tests.plugin import Tell

# Low bits of each interval are drawn at random, or loops fall into step with it. 65 to 128 instructions: 96.5.
INTERVAL, RANDOM = 127, 6
TOP_FUNCTIONS = 20
CORRELATION = 0.97  # Spearman's, at least
NOT_COMPARED = re.compile(r"/(libc|libm|ld-linux-x86-64|liblwprun|vgpreload\w*)[-.\w]*$|^[^/]|^$")
PT_GNU_EH_FRAME = 0x6474E550
HASH_SEEDS = {"PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0"}

Costs = dict[tuple[str, int], int]  # by object and function


@dataclass(frozen=True)
class Subject:
    """A program and its arguments, and how far the instructions may be apart."""

    words: tuple[str, ...]
    totals: float = 0.001


# ---- Functions -----------------------------------------------------------------------------------


class Object(callgrind.Object):
    """Where the functions of an ELF file begin, from the table of .eh_frame_hdr."""

    def __init__(self, path: Path):
        super().__init__(path)
        self.starts: list[int] = []
        for kind, offset, address, _ in self.headers:
            if kind == PT_GNU_EH_FRAME:
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


@cache
def _object(path: str) -> Object:
    return Object(Path(path))


# ---- Both ----------------------------------------------------------------------------------------


def _by_function(costs: Mapping[str, Mapping[int, int]]) -> Costs:
    """What addresses of the objects that are compared have."""
    found: Costs = {}
    for path, addresses in costs.items():
        if not NOT_COMPARED.search(path):
            for at, number in addresses.items():
                key = path, _object(path).start(at)
                found[key] = found.get(key, 0) + number
    return found


def _profile(subject: Subject, work: Path) -> Path:
    """In a guest. What the program prints is nobody's."""
    data = work / "data"
    options = [f"--lwprun=--event=instructions:{INTERVAL}", f"--lwprun=--random={RANDOM}"]
    options += ["--lwprun=--ring-size=255M", "--lwprun=--max-threads=4"]
    seeds = " ".join(f"{name}={value}" for name, value in HASH_SEEDS.items())
    line = f"{seeds} {shlex.join(subject.words)} >/dev/null"
    good([VLWP, "run", *options, f"--data={data}", "--report-file=/dev/null", "--", "/bin/sh", "-c", line])
    return data


def _sampled(subject: Subject, work: Path) -> Costs:
    """The same of a profile."""
    data, out = _profile(subject, work), work / "csv"
    report = json.loads(good([LWPCTL, "report", "--json", "--limit=1", data]))
    name = Path(subject.words[0]).name[:15]
    (thread,) = [thread for thread in report["threads"] if thread["name"] == name]
    assert not thread["missed"], f"{thread['missed']} samples were missed"
    (event,) = report["events"]
    period = event["counted"] / event["samples"]
    good([LWPCTL, "export", "--format=csv", "--no-lines", f"--thread={thread['tid']}", "-o", out, data])
    samples: dict[str, Counter[int]] = {}
    with out.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            path = callgrind.canonical(row["object"])
            samples.setdefault(path, Counter())[int(row["address"], 16)] += int(row["samples"])
    return {key: round(number * period) for key, number in _by_function(samples).items()}


# ---- The judgement -------------------------------------------------------------------------------


def _ranks(values: Sequence[int]) -> list[float]:
    """From 1 for the greatest; equal ones have the mean of theirs."""
    return [
        sum(other > value for other in values) + (sum(other == value for other in values) + 1) / 2 for value in values
    ]


def holds(subject: Subject, work: Path, tell: Tell) -> None:
    """The profile of a program is callgrind's."""
    truth = _by_function(callgrind.of(work, subject.words, callgrind.STUBS_IN_CALLERS, HASH_SEEDS).own)
    costs = _sampled(subject, work)
    hottest = sorted(truth, key=lambda key: -truth[key])[:TOP_FUNCTIONS]
    for path, start in hottest:
        print(f"{truth[path, start]:12} {costs.get((path, start), 0):12} {path}+{start:#x}")
    ranks = (_ranks([numbers.get(key, 0) for key in hottest]) for numbers in (truth, costs))
    order = statistics.correlation(*ranks)
    wanted, total = sum(truth.values()), sum(costs.values())
    apart = total / wanted - 1
    tell(f"{wanted:,} instructions, {apart:+.3%}; ranks of {len(hottest)} functions: {order:.3f}")
    assert len(hottest) == TOP_FUNCTIONS
    assert order >= CORRELATION, "the functions are in another order"
    assert abs(apart) <= subject.totals, f"{total:,} instructions, callgrind has {wanted:,}"
