# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact counts beside callgrind's: instructions and the time of one run, for programs that take a while. callgrind
counts the dynamic loader's work from its start, which LWP does not, and each turn of a repeated string instruction,
which is one instruction. Either counts instructions, or instructions and what misses the data caches; LWP counts
branches, too. The times of both are taken in turns; the ratio is that of a turn."""

import argparse
import itertools
import json
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lab.benches.output import Value, add_json_option, print_json
from lab.building import deps
from lab.common import proc
from lab.common.options import number
from lab.common.places import TOP
from lab.common.say import Skip

PROGRAMS: tuple[tuple[str, ...], ...] = (
    ("/usr/bin/sha256sum", "/usr/bin/perl"),
    ("/usr/bin/xz", "-kc", "/usr/share/common-licenses/GPL-3"),
    ("/usr/bin/perl", "-e", "$x += $_ * $_ for 1 .. 300000; print $x"),
)

# What is counted: the options of count and of callgrind.
KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("instructions", "--events=instructions,branches", ()),
    ("and misses", "--events=instructions,branches,dcache-misses", ("--cache-sim=yes",)),
)

MORE = 20  # runs in one guest, so that the time of its boot, which varies, does not count
CALLGRIND = 5  # runs in a turn


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--turns", type=number(1, 100), metavar="N", default=3,
        help="how often each is measured, in turns (default 3); the medians count, least and greatest ratio are shown",
    )
    add_json_option(parser)


def _callgrind(options: Sequence[str], words: Sequence[str], runs: int) -> tuple[int, float]:
    """Instructions, and the seconds of a run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *options, *words]
        began = time.monotonic()
        for _ in range(runs):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - began
        totals = [line for line in out.read_text(encoding="utf-8").splitlines() if line.startswith("totals: ")]
    return int(totals[0].split()[1]), seconds / runs


def _lwp(events: str, words: Sequence[str], runs: int) -> tuple[int, float]:
    """Instructions and seconds, with the guest's boot."""
    began = time.monotonic()
    line = f"{shlex.join(words)} >/dev/null"
    command: list[proc.Word] = [TOP / "vlwp", "count", "--json", events, f"--repeat={runs}", "--"]
    command += ["/bin/sh", "-c", line]
    text = proc.output(command, stderr=subprocess.DEVNULL)
    result = json.loads(text[text.index("{"):])
    last = [thread for thread in result["threads"] if thread["name"] == Path(words[0]).name]
    return int(last[-1]["counts"]["instructions"]), time.monotonic() - began


def _measure(words: Sequence[str], kind: tuple[str, str, Sequence[str]], turns: int) -> dict[str, Value]:
    counts, events, options = kind
    lwp, boot, callgrind = [], [], []
    for _ in range(turns):
        counted, with_boot = _lwp(events, words, 1)
        _, many = _lwp(events, words, 1 + MORE)
        lwp.append((many - with_boot) / MORE)
        boot.append(with_boot - lwp[-1])
        truth, seconds = _callgrind(options, words, CALLGRIND)
        callgrind.append(seconds)
    ratios = [theirs / ours for theirs, ours in zip(callgrind, lwp, strict=True)]
    return {
        "program": Path(words[0]).name, "counts": counts,
        "lwp": counted, "callgrind": truth, "difference": counted - truth,
        "lwp_seconds": round(statistics.median(lwp), 3), "boot_seconds": round(statistics.median(boot), 2),
        "callgrind_seconds": round(statistics.median(callgrind), 3),
        "ratio": round(statistics.median(ratios), 2),
        "least": round(min(ratios), 2), "greatest": round(max(ratios), 2),
    }


COLUMNS = (
    ("program", "program", 12), ("counts", "counts", 12),
    ("lwp", "LWP", 14), ("callgrind", "callgrind", 14), ("difference", "difference", 12),
    ("lwp_seconds", "LWP s", 8), ("boot_seconds", "boot s", 8), ("callgrind_seconds", "callgrind s", 13),
    ("ratio", "callgrind/LWP", 15), ("least", "least", 8), ("greatest", "greatest", 10),
)


def _line(values: Sequence[Value]) -> str:
    return "".join(f"{value:{width}}" for value, (_, _, width) in zip(values, COLUMNS, strict=True))


def main(args: argparse.Namespace) -> int:
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed")
    deps.ensure()
    if args.json:
        print_json("count", [_measure(*pair, args.turns) for pair in itertools.product(PROGRAMS, KINDS)])
        return 0
    print("".join(f"{title:{'<' if at < 2 else '>'}{width}}" for at, (_, title, width) in enumerate(COLUMNS)))
    for words, kind in itertools.product(PROGRAMS, KINDS):
        row = _measure(words, kind, args.turns)
        print(_line([row[key] for key, _, _ in COLUMNS]), flush=True)
    return 0
