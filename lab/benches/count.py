# SPDX-License-Identifier: GPL-2.0-or-later
"""What exact counts cost: CPU time of programs counted on count-1 and in a process, beside the same natively, under
valgrind that does nothing, under callgrind, and in a guest that counts nothing and has no icount. An empty run of each
way is subtracted. The ways take turns; a ratio is that of a turn, the median of the turns is shown."""

import argparse
import math
import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lab.benches.output import Value, add_json_option, print_json
from lab.building import deps
from lab.common.options import number
from lab.common.places import TOP
from lab.common.say import Died, Skip

SOURCE = TOP / "guest-tests/linux/workload.c"
SQL = "with recursive c(n) as (select 1 union all select n + 1 from c where n < 400000) select sum(n * n) from c"
PROGRAMS: dict[str, tuple[str, ...]] = {
    "sha256sum": ("sha256sum", *10 * ["/usr/bin/perl"]),
    "xz": ("xz", "-kc", "/bin/bash"),
    "perl": ("perl", "-e", "$x .= $_ for 1 .. 2000000; print length $x"),
    "python3": ("/usr/bin/python3", "-S", "-c", "print(sum(i * i for i in range(2000000)))"),
    "gcc": ("gcc", "-O2", "-S", "-o", "/dev/null", str(SOURCE)),
    "sqlite3": ("sqlite3", ":memory:", SQL),
}
EMPTY = ("/bin/true",)
VLWP = str(TOP / "vlwp")
WAYS: dict[str, tuple[str, ...]] = {
    "native": (),
    "count": (VLWP, "count", "--"),
    "process": (VLWP, "count", "--process", "--"),
    "plain": (VLWP, "shell", "--smp=1", "--"),
    "valgrind": ("valgrind", "-q", "--tool=none", "--trace-children=yes"),
    "callgrind": ("valgrind", "-q", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=out.%p"),
}


# The first takes how many times what the second does?
BESIDE = {
    "callgrind_count": ("callgrind", "count"), "callgrind_process": ("callgrind", "process"),
    "count_plain": ("count", "plain"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--turns", type=number(1, 100), metavar="N", default=3, help="how often each is measured (default 3)"
    )
    parser.add_argument("--only", choices=PROGRAMS, help="one program")
    add_json_option(parser)


def _seconds(way: str, words: Sequence[str]) -> float:
    """User's and system's, with all children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) if way == "callgrind" else TOP
        line = [*WAYS[way], *words]
        child = subprocess.run(line, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if child.returncode:
        raise Died(f"{way}: {words[0]} ended with status {child.returncode}: {child.stderr.decode(errors='replace')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _measure(name: str, turns: int) -> dict[str, Value]:
    """A row: seconds natively, how many times that each way takes, and two ways beside each other."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(turns + 1):
        for way, seconds in found.items():
            spent = _seconds(way, PROGRAMS[name]) - _seconds(way, EMPTY)
            if turn:  # the first one notes files
                seconds.append(max(spent, 0.001))
    row: dict[str, Value] = {"program": name, "native_seconds": round(statistics.median(found["native"]), 3)}
    for way in list(WAYS)[1:]:
        ratios = [ours / native for ours, native in zip(found[way], found["native"], strict=True)]
        row[way] = round(statistics.median(ratios), 2)
    for what, (more, less) in BESIDE.items():
        row[what] = round(statistics.median(a / b for a, b in zip(found[more], found[less], strict=True)), 2)
    return row


COLUMNS = {
    "program": "program", "native_seconds": "native s", "count": "count-1", "process": "process", "plain": "no icount",
    "valgrind": "valgrind", "callgrind": "callgrind", "callgrind_count": "callgrind/count-1",
    "callgrind_process": "callgrind/process", "count_plain": "icount",
}


def _line(values: Sequence[Value]) -> str:
    return f"{values[0]:12}" + "".join(f"{value:>{max(11, len(name) + 2)}}"
                                       for value, name in zip(values[1:], list(COLUMNS.values())[1:], strict=True))


def _means(rows: Sequence[dict[str, Value]]) -> list[Value]:
    """Geometric ones, of the ratios."""
    columns = list(COLUMNS)[2:]
    return ["all", "", *(round(math.prod(float(row[key]) for row in rows) ** (1 / len(rows)), 2) for key in columns)]


def main(args: argparse.Namespace) -> int:
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed")
    deps.ensure()
    names = [args.only] if args.only else [name for name, words in PROGRAMS.items() if shutil.which(words[0])]
    if args.json:
        print_json("count", [_measure(name, args.turns) for name in names])
        return 0
    print(_line(list(COLUMNS.values())))
    rows = []
    for name in names:
        rows.append(_measure(name, args.turns))
        print(_line([rows[-1][key] for key in COLUMNS]), flush=True)
    print(_line(_means(rows)))
    return 0
