# SPDX-License-Identifier: GPL-2.0-or-later
"""Exact counts beside callgrind's: instructions and the time of one run, for programs that take a while. callgrind
counts the dynamic loader's work from its start, which LWP does not, and each turn of a repeated string instruction,
which is one instruction."""

import argparse
import json
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from lab.benches.output import Value, add_json_option, print_json
from lab.common import proc
from lab.common.places import TOP
from lab.common.say import Skip
from lab.start import deps

PROGRAMS: tuple[tuple[str, ...], ...] = (
    ("/usr/bin/sha256sum", "/usr/bin/perl"),
    ("/usr/bin/xz", "-kc", "/usr/share/common-licenses/GPL-3"),
    ("/usr/bin/perl", "-e", "$x += $_ * $_ for 1 .. 300000; print $x"),
)

MORE = 20  # runs in one guest, so that the time of its boot, which varies, does not count


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    add_json_option(parser)


def _callgrind(words: tuple[str, ...]) -> tuple[int, float]:
    """Instructions and seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *words]
        began = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - began
        totals = [line for line in out.read_text(encoding="utf-8").splitlines() if line.startswith("totals: ")]
    return int(totals[0].split()[1]), seconds


def _lwp(words: tuple[str, ...], runs: int) -> tuple[int, float]:
    """Instructions and seconds, with the guest's boot."""
    began = time.monotonic()
    line = f"{shlex.join(words)} >/dev/null"
    command: list[proc.Word] = [TOP / "vlwp", "count", "--json", f"--repeat={runs}", "--", "/bin/sh", "-c", line]
    text = proc.output(command, stderr=subprocess.DEVNULL)
    result = json.loads(text[text.index("{"):])
    last = [thread for thread in result["threads"] if thread["name"] == Path(words[0]).name]
    return int(last[-1]["counts"]["instructions"]), time.monotonic() - began


def _measure(words: tuple[str, ...]) -> dict[str, Value]:
    counted, with_boot = _lwp(words, 1)
    _, many = _lwp(words, 1 + MORE)
    truth, callgrind = _callgrind(words)
    seconds = (many - with_boot) / MORE
    return {
        "program": Path(words[0]).name, "lwp": counted, "callgrind": truth, "difference": counted - truth,
        "lwp_seconds": round(seconds, 2), "boot_seconds": round(with_boot - seconds, 2),
        "callgrind_seconds": round(callgrind, 2),
    }


def main(args: argparse.Namespace) -> int:
    """The command."""
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed")
    deps.ensure()
    if args.json:
        print_json("count", [_measure(words) for words in PROGRAMS])
        return 0
    print(f"{'program':12}{'LWP':>14}{'callgrind':>14}{'difference':>12}{'LWP s':>8}{'boot s':>8}{'callgrind s':>13}")
    for words in PROGRAMS:
        row = _measure(words)
        print(f"{row['program']:12}{row['lwp']:14}{row['callgrind']:14}{row['difference']:12}", end="")
        print(f"{row['lwp_seconds']:8}{row['boot_seconds']:8}{row['callgrind_seconds']:13}", flush=True)
    return 0
