# SPDX-License-Identifier: GPL-2.0-or-later
"""Count what PROGRAM executes in user mode, exactly: instructions, branches, cache misses, of each process and thread.
Exit status 1 if a limit (--max) is exceeded."""

import argparse
import json
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.common import proc
from lab.common.places import LWPCTL, LWPRUN
from lab.common.say import Died, Usage, say
from lab.guest import machine
from lab.guest.files import program
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.start import deps, trace

TAKES_PROGRAM = "program"

INTERVAL = (1 << 25) - 1  # a record every 33 million events: nothing to count with but the counters
COUNTER = 1 << 26  # a counter has 26 bits, signed
MISSES = "dcache-misses"
EVENTS = ("instructions", "branches", MISSES)
TAKEN = "taken-branches"

# The output of every run is a file: a program may count otherwise. Between the runs the shell starts no programs, which
# take long in an emulated guest.
SCRIPT = """
n=$1 share=$2 lwprun=$3; shift 3
i=0
while [ $i -lt "$n" ]; do
    i=$((i + 1))
    "$lwprun" -o "$share/data.$i" "$@" >"$share/out"
    echo $? >"$share/status.$i"
    [ -f "$share/data.$i" ] || exit 3
    [ $i != 1 ] || cat "$share/out"
done
rm "$share/out"
"""
# Addresses are not drawn at random.
SHELL = ("setarch", "-R", "/bin/sh", "-c", SCRIPT, "-")


Function = dict[str, Any]  # symbol, object, instructions, with_callees, calls


@dataclass
class Run:
    """What one run of the program counted: event, number; and the same of each thread."""

    total: dict[str, int]
    threads: list[dict[str, Any]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    machine.add_options(parser)
    parser.epilog = (
        "The dynamic loader's work before the library of lwprun is loaded is not counted. Cache misses depend on what "
        f"is in the caches and differ between runs. Events: {', '.join((*EVENTS, TAKEN))}. The program's standard "
        "output goes through a file; it is shown once."
    )
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("--repeat", type=_repeat, default=1, metavar="N", help="run it N times, all in one guest")
    parser.add_argument(
        "--events",
        type=_chosen,
        metavar="EVENT,...",
        help=f"count these only, of {', '.join(EVENTS)} (default: all); without {MISSES} a program runs faster",
    )
    parser.add_argument(
        "--max",
        type=_limit,
        action="append",
        default=[],
        metavar="EVENT:N",
        help="end with status 1 if more than N were counted (may be repeated)",
    )
    parser.add_argument(
        "--taken",
        action="store_true",
        help=f"count {TAKEN} too, in one more run whose every branch is recorded (32 bytes each)",
    )
    parser.add_argument(
        "--by", choices=("function",), metavar="function",
        help="the instructions and calls of each function too, from such a run",
    )


def _repeat(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,2}", text):
        raise argparse.ArgumentTypeError("the number of runs is 1 to 999")
    return int(text)


def _chosen(text: str) -> tuple[str, ...]:
    words = text.split(",")
    unknown = [word for word in words if word not in EVENTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no event '{unknown[0]}'; there are: {', '.join(EVENTS)}")
    return tuple(event for event in EVENTS if event in words)


def _limit(text: str) -> tuple[str, int]:
    event, _, number = text.partition(":")
    if event not in (*EVENTS, TAKEN) or not re.fullmatch(r"\d+", number):
        raise argparse.ArgumentTypeError(f"'{text}' is not EVENT:N with one of {', '.join((*EVENTS, TAKEN))}")
    return event, int(number)


def counted(thread: dict[str, Any], event: str) -> int:
    """What a thread counted of an event, from what lwpctl reports of its counter (docs/lwpdata.md)."""
    counter = next(c for c in thread["counters"] if c["event"] == event)
    if "final" not in counter or thread["missed"] or thread["lost"]:
        raise Died(f"thread {thread['tid']} ({thread['name']}) did not end by itself: its counters are not known")
    final = int(counter["final"])
    if final >= COUNTER // 2:
        final -= COUNTER
    return int(counter["records"]) * (INTERVAL + 1) + int(counter["initial"]) - final


def of_report(report: dict[str, Any]) -> Run:
    """The counts in what `lwpctl report --json` says."""
    if any(report["losses"].values()):
        raise Died(f"not everything was counted: {report['losses']}")
    events = [event["event"] for event in report["events"]]
    threads = []
    for thread in report["threads"]:
        row = {"program": thread["program"], "name": thread["name"], "tid": thread["tid"]}
        threads.append({**row, "counts": {event: counted(thread, event) for event in events}})
    total = {event: sum(thread["counts"][event] for thread in threads) for event in events}
    return Run(total, threads)


def same(runs: Sequence[Run], event: str) -> bool:
    """Did every run count the same?"""
    return len({run.total[event] for run in runs}) == 1


def exceeded(runs: Sequence[Run], limits: Sequence[tuple[str, int]]) -> list[str]:
    """A line for each limit that a run exceeds."""
    most = [(event, limit, max(run.total[event] for run in runs)) for event, limit in limits]
    return [f"{event}: {count} are more than {limit}" for event, limit, count in most if count > limit]


def table(runs: Sequence[Run]) -> str:
    """The counts of the first run, and how the others differ."""
    first = runs[0]
    events = list(first.total)
    rows = [["", *events], ["all", *(f"{first.total[event]}" for event in events)]]
    if len(first.threads) > 1:
        names = [f"program {thread['program']}, {thread['tid']} {thread['name']!a}" for thread in first.threads]
        rows += [
            [name, *(str(thread["counts"][event]) for event in events)] for name, thread in zip(names, first.threads)
        ]
    width = max(len(row[0]) for row in rows)
    lines = ["  ".join([row[0].ljust(width), *(word.rjust(15) for word in row[1:])]) for row in rows]
    for event in events:
        if not same(runs, event):
            numbers = sorted(run.total[event] for run in runs)
            lines.append(f"{event}: not the same in all {len(runs)} runs: {numbers[0]} to {numbers[-1]}")
    exact = [event for event in events if event in EVENTS and event != MISSES]
    if len(runs) > 1 and exact and all(same(runs, event) for event in events if event != MISSES):
        lines.append(f"{' and '.join(exact).capitalize()} are the same in all {len(runs)} runs.")
    return "\n".join(lines)


def events_of(guest: machine.Machine, chosen: tuple[str, ...], limits: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """What is counted: what the user has chosen, or all that the guest is known to have. With LWP properties of the
    user's it may have no caches."""
    caches = guest.accel == "tcg" and "lwp-" not in guest.cpu
    if chosen and not caches and MISSES in chosen:
        raise Died(f"{MISSES} are counted under TCG only, and without lwp- properties in --cpu")
    left_out = [event for event, _ in limits if chosen and event in EVENTS and event not in chosen]
    if left_out:
        raise Usage(f"--max is for {left_out[0]}, which --events leaves out")
    return chosen or (EVENTS if caches else EVENTS[:2])


def _read(data: Path, status: Path) -> Run:
    ended = int(status.read_text(encoding="ascii"))
    if ended:
        raise Died(f"the program ended with status {ended}")
    return of_report(json.loads(proc.output([LWPCTL, "report", "--json", data])))


def _record(
    guest: machine.Machine, options: Sequence[str], repeat: int, words: Sequence[str], run: Path, **stdio: Any
) -> None:
    command = [*SHELL, str(repeat), GUEST_SHARE, str(LWPRUN), "--quiet", *options, "--", *words]
    status = machine.boot(guest, run, command, **stdio)
    if status:
        ended = run / "share/status.1"
        what = f" (lwprun: {ended.read_text(encoding='ascii').strip()})" if ended.is_file() else ""
        raise Died(f"nothing was counted: status {status}{what}")


def count(guest: machine.Machine, events: Sequence[str], words: Sequence[str], repeat: int) -> list[Run]:
    """Run the program so many times in one guest."""
    intervals = ",".join(f"{event}:{INTERVAL}" for event in events)
    with run_directory() as run:
        _record(guest, [f"--event={intervals}", "--random=0"], repeat, words, run)
        return [_read(run / f"share/data.{i}", run / f"share/status.{i}") for i in range(1, repeat + 1)]


def traced(guest: machine.Machine, words: Sequence[str], taken: bool, by: bool) -> tuple[int, list[Function]]:
    """One more run, whose every branch is recorded: taken branches, and what each function executed, if wanted."""
    options = ["--windows=all"]
    machine.deliver_windows(guest, options)
    with run_directory() as run:
        _record(guest, options, 1, words, run, stdout=subprocess.DEVNULL)
        data = run / "share/data.1"
        report = json.loads(proc.output([LWPCTL, "report", "--exact", "--json", "--limit=0", data])) if by else {}
        return trace.taken(data) if taken else 0, report.get("functions", [])


def functions_table(functions: Sequence[Function]) -> str:
    """Instructions, those of callees with them, and calls of each function, the greatest first."""
    rows = [["instructions", "with callees", "calls", "function"]]
    for row in functions:
        numbers = [str(row[key]) for key in ("instructions", "with_callees", "calls")]
        rows.append([*numbers, f"{row['symbol']}  {row['object']}"])
    return "\n".join("  ".join([*(word.rjust(15) for word in row[:3]), row[3]]) for row in rows)


def main(args: argparse.Namespace) -> int:
    """The command."""
    guest = machine.from_options(args)
    if not args.program:
        raise Died("count what? Give a program after --")
    program(args.program[0])
    events = events_of(guest, args.events or (), args.max)
    taken = args.taken or any(event == TAKEN for event, _ in args.max)
    deps.ensure()
    machine.prepare(guest)
    say(f"counting {shlex.join(args.program)}, {args.repeat} times ...")
    runs = count(guest, events, args.program, args.repeat)
    functions: list[Function] = []
    if taken or args.by:
        number, functions = traced(guest, args.program, taken, bool(args.by))
        for run in runs:
            run.total.update({TAKEN: number} if taken else {})
    missing = [event for event, _ in args.max if event not in runs[0].total]
    if missing:
        raise Died(f"this guest does not count {missing[0]}")
    if args.json:
        result = {
            "command": args.program,
            "runs": [run.total for run in runs],
            "same": {event: same(runs, event) for event in runs[0].total},
            "threads": runs[0].threads,
            **({"functions": functions} if args.by else {}),
        }
        print(json.dumps(result, indent=2))
    else:
        print(table(runs))
        if args.by:
            print(f"\n{functions_table(functions)}")
    over = exceeded(runs, args.max)
    for line in over:
        say(line)
    return 1 if over else 0
