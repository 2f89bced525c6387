# SPDX-License-Identifier: GPL-2.0-or-later
"""Count what PROGRAM executes in user mode, exactly: instructions, branches, cache misses, of each process and thread,
however it ends."""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.building import deps, qemu
from lab.common import options, proc
from lab.common.places import LWPCTL, RELEASE
from lab.common.say import Died, Usage, say
from lab.guest import count1, frozen, process
from lab.guest.files import MAX_INPUT, keep_input, writable
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.nested import machine
from lab.start import baseline
from lab.start.run import how_ended

TAKES_PROGRAM = "program"

INTERVAL = (1 << 25) - 1  # a record every 33 million events: nothing to count with but the counters
COUNTER = 1 << 26  # a counter has 26 bits, signed
MISSES = "dcache-misses"
EVENTS = ("instructions", "branches", MISSES)
TAKEN = "taken-branches"

INPUT = "input"
OVER_LIMIT = 3  # exit status

# Input and output of every run are files: a program may count otherwise. The shell starts nothing but lwprun, and
# addresses are not drawn at random.
SCRIPT = """
run=$VLWP_RUN share=$1 data=$2 input=$3 lwprun=$4; shift 4; unset VLWP_RUN
[ -z "$input" ] || exec <"$share/$input"
exec "$lwprun" -o "$share/$data.$run" "$@" >"$share/out.$((run > 1))"
"""
SHELL = ("setarch", "-R", "/bin/sh", "-c", SCRIPT, "-", GUEST_SHARE)

# What lwpctl reports of programs and threads that were not counted.
NOT_COUNTED = {
    "execs_unfollowed": "programs that cannot be profiled (static, set-user-ID ...)",
    "processes_refused": "processes in another name space",
    "threads_no_slot": "threads for which there was no slot",
    "threads_no_memory": "threads for which there was no memory",
    "lost": "threads that use LWP themselves, or lost it, from then on",
    "killed": f"threads that were killed, the last instructions, at most {process.BUDGET} each",
    "left_out": "threads beyond those for which the file had rows",
}


Function = dict[str, Any]  # symbol, object, instructions, with_callees, calls


@dataclass
class Run:
    """What one run of the program counted: event, number; the same of each thread that ended by itself, and of the
    others together."""

    total: dict[str, int]
    threads: list[dict[str, Any]]
    others: int = 0  # threads that did not: their process ended, or was replaced by exec
    status: int = 0
    running: int = 0  # programs that still ran when the first one ended
    not_counted: dict[str, int] = field(default_factory=dict)

    def rest(self, event: str) -> int:
        """What the threads that did not end by themselves counted of an event of theirs."""
        return self.total[event] - sum(int(thread["counts"][event]) for thread in self.threads)


def add_options(parser: argparse.ArgumentParser) -> None:
    machine.add_options(parser)
    parser.epilog = (
        f"The program runs on {count1.NAME} (docs/count-1.md), unless an option describes another guest; the first "
        "time it runs twice. Counted is from its first instruction on, with all that it starts. "
        f"Events: {', '.join((*EVENTS, TAKEN))}. "
        f"Of more than one run each gets the same standard input, up to {MAX_INPUT >> 20} MiB, and the output of one "
        "is shown. Programs that still run when PROGRAM ends are counted until then, and ended. The first Ctrl-C or "
        "SIGTERM goes to PROGRAM, and what it has counted is shown. Other guests leave out the loader's work before "
        "lwprun's library is loaded, and static programs that PROGRAM starts; KVM estimates cache misses. Exit status: "
        f"PROGRAM's, of the first run that failed; if none did, {OVER_LIMIT} if a limit is exceeded; 1 if nothing was "
        "counted; 2 for wrong usage; 130 after Ctrl-C, 143 after SIGTERM."
    )
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    runs = options.number(1, 999, "a number of runs")
    parser.add_argument("--repeat", type=runs, default=1, metavar="N", help="run it N times")
    parser.add_argument(
        "--events",
        type=_chosen,
        metavar="EVENT,...",
        help=f"count these, of {', '.join(EVENTS)} (default: the first two); without {MISSES} a program runs faster",
    )
    parser.add_argument(
        "--max",
        type=_limit,
        action="append",
        default=[],
        metavar="EVENT:N",
        help=f"end with status {OVER_LIMIT} if more than N were counted (may be repeated)",
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep what --json prints in FILE, for --baseline")
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE",
        help=f"end with status {OVER_LIMIT} if more is counted than in FILE, by more than --threshold",
    )
    parser.add_argument("--threshold", type=_percent, default=0, metavar="PERCENT", help="that is allowed (default 0)")
    parser.add_argument("--markdown", action="store_true", help="a table for a page, with the baseline beside")
    parser.add_argument(
        "--taken",
        action="store_true",
        help=f"count {TAKEN}, too, on {count1.NAME}",
    )
    parser.add_argument(
        "--process", action="store_true",
        help="in a process, not in a guest: starts sooner, twice as fast, for a quick look (docs/process.md)",
    )
    parser.add_argument(
        "--by", choices=("name", "function"),
        help="name: one row for all threads of a name; function: the instructions and calls of each function too, "
        "from such a run",
    )


def _chosen(text: str) -> tuple[str, ...]:
    words = text.split(",")
    unknown = [word for word in words if word not in EVENTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no event '{unknown[0]}'; there are: {', '.join(EVENTS)}")
    return tuple(event for event in EVENTS if event in words)


def _percent(text: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of percent, as 0.5")
    return float(text)


def _limit(text: str) -> tuple[str, int]:
    event, _, number = text.partition(":")
    if event not in (*EVENTS, TAKEN) or not re.fullmatch(r"\d+", number):
        raise argparse.ArgumentTypeError(f"'{text}' is not EVENT:N with one of {', '.join((*EVENTS, TAKEN))}")
    return event, int(number)


def known(thread: dict[str, Any]) -> bool:
    """Did it end by itself, with its last counts in memory and all of its records in the file?"""
    return all("final" in counter for counter in thread["counters"]) and not thread["missed"] and not thread["lost"]


def counted(thread: dict[str, Any], event: str) -> int:
    """What a known thread counted of an event, from what lwpctl reports of its counter (docs/lwpdata.md)."""
    counter = next(c for c in thread["counters"] if c["event"] == event)
    final = int(counter["final"])
    if final >= COUNTER // 2:
        final -= COUNTER
    return int(counter["records"]) * (INTERVAL + 1) + int(counter["initial"]) - final


def of_report(report: dict[str, Any], total: dict[str, int]) -> Run:
    """A run from what `lwpctl report --json` says, and from what the guest's processors counted in it."""
    threads = [
        {
            "program": thread["program"], "name": thread["name"], "tid": thread["tid"],
            "counts": {event: counted(thread, event) for event in total},
        }
        for thread in report["threads"] if known(thread)
    ]
    lost = {"lost": sum(thread["lost"] for thread in report["threads"])}
    losses = {**report["losses"], **lost}
    not_counted = {what: losses[what] for what in NOT_COUNTED if losses.get(what)}
    running = sum(program.get("end") == "running" for program in report["programs"])
    return Run(total, threads, len(report["threads"]) - len(threads), running=running, not_counted=not_counted)


def same(runs: Sequence[Run], event: str) -> bool:
    """Did every run count the same?"""
    return len({run.total[event] for run in runs}) == 1


def exceeded(runs: Sequence[Run], limits: Sequence[tuple[str, int]]) -> list[str]:
    """A line for each limit that a run exceeds."""
    most = [(event, limit, max(run.total[event] for run in runs)) for event, limit in limits]
    return [f"{event}: {count} are more than {limit}" for event, limit, count in most if count > limit]


def _thread(thread: dict[str, Any]) -> str:
    """What the row of one is called."""
    where = ", ".join(f"{key} {thread[key]}" for key in ("program", "process") if key in thread)
    return f"{where}, {thread['tid']} {thread['name']!a}"


def table(runs: Sequence[Run], by_name: bool = False) -> str:
    """The counts of the first run, by thread or by the threads' names, and how the others differ."""
    first = runs[0]
    events = list(first.total)
    rows = [["", *events], ["all", *(f"{first.total[event]}" for event in events)]]
    if len(first.threads) > 1 or first.others:
        counts: dict[tuple[str, int], Counter[str]] = {}
        for number, thread in enumerate(first.threads):
            row = (ascii(thread["name"]), 0) if by_name else (_thread(thread), number)
            counts.setdefault(row, Counter()).update(thread["counts"])
        rows += [[name, *(str(numbers[event]) for event in events)] for (name, _), numbers in counts.items()]
    if first.others:
        rest = [str(first.rest(event)) if event in EVENTS else "" for event in events]
        threads = "1 thread that its" if first.others == 1 else f"{first.others} threads that their"
        rows.append([f"{threads} process ended", *rest])
    width = max(len(row[0]) for row in rows)
    lines = ["  ".join([row[0].ljust(width), *(word.rjust(15) for word in row[1:])]) for row in rows]
    if first.running:
        lines.append(f"Programs that still ran at the end, and are counted until then: {first.running}.")
    lines += [f"NOT counted: {number} {NOT_COUNTED[what]}." for what, number in first.not_counted.items()]
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
    caches = "lwp-" not in guest.cpu
    if chosen and not caches and MISSES in chosen:
        raise Died(f"{MISSES} are counted without lwp- properties in --cpu only")
    left_out = [event for event, _ in limits if chosen and event in EVENTS and event not in chosen]
    if left_out:
        raise Usage(f"--max is for {left_out[0]}, which --events leaves out")
    return chosen or (EVENTS if caches and guest.accel == "tcg" and not guest.frozen else EVENTS[:2])


def command(guest: machine.Machine, data: str, kept: str, options: Sequence[str], words: Sequence[str]) -> list[str]:
    """What counts a program in a guest; kept: the file of the share with its input."""
    return [*SHELL, f"{data}.lwp", kept, guest.lwprun, "--quiet", *options, "--", *words]


def _boot(
    guest: machine.Machine, run: Path, data: str, options: Sequence[str], words: Sequence[str]
) -> list[dict[str, int]]:
    """Run the program guest.runs times in one guest. Result: the statistics of each run that took place."""
    guest.stats = run / "share" / data
    kept = INPUT if (run / "share" / INPUT).is_file() else ""
    numbers = range(1, guest.runs + 1)
    machine.boot(guest, run, command(guest, data, kept, options, words))
    files = [Path(f"{guest.stats}.{number}") for number in numbers]
    return [machine.totals(file) for file in files if file.is_file()]


def _report(data: Path, *options: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(proc.output([LWPCTL, "report", "--json", *options, data]))
    return report


def count(guest: machine.Machine, events: Sequence[str], words: Sequence[str], run: Path) -> list[Run]:
    """Run the program in one guest. Fewer runs than wanted: the user has ended it."""
    intervals = ",".join(f"{event}:{INTERVAL}" for event in events)
    before = dict.fromkeys(events, 0)
    runs = []
    for i, stats in enumerate(_boot(guest, run, "count", [f"--event={intervals}", "--random=0"], words), 1):
        after = {event: stats.get(f"counted-{event}", 0) for event in events}
        data = run / f"share/count.lwp.{i}"
        total = {event: after[event] - before[event] for event in events}
        if not data.is_file() and not any(total.values()):
            raise Died(f"nothing was counted: lwprun ended with status {stats['status']}")
        # Without the file lwprun was killed with the program: the threads are not known.
        runs.append(of_report(_report(data), total) if data.is_file() else Run(total, []))
        runs[-1].status, before = stats["status"], after
        if guest.accel == "kvm":  # its statistics lag behind while a counter of the host's counts
            total.update({event: total[event] - min(0, runs[-1].rest(event)) for event in events})
    return runs


def of_counts(text: str, events: Sequence[str], status: int) -> Run:
    """A run from what the guest's init says (lab/guest/guest-count.c)."""
    one = Run({}, [], status=status)
    for line in text.splitlines():
        kind, *words = line.split(" ")
        numbers = [int(word) for word in words[2 * (kind == "thread"):][:len(events)] if kind != "left"]
        counts = dict(zip(events, numbers))
        if kind == "total":
            one.total = counts
        elif kind == "thread":
            name = " ".join(words[2 + len(events):])
            one.threads.append({"process": int(words[0]), "tid": int(words[1]), "name": name, "counts": counts})
        else:
            one.running = int(words[0])
    return one


def _read(file: Path, events: Sequence[str], status: int) -> Run:
    return of_counts(file.read_text(encoding="utf-8", errors="replace"), events, status)


def _noted(guest: machine.Machine, how: frozen.Noting, events: Sequence[str], words: Sequence[str], run: Path) -> bool:
    """The machine has a program; False: a signal has ended that before, when its files were noted."""
    one = guest.frozen
    assert one
    if not one.file and not one.program:
        one.program = frozen.program(one, guest.root, run, words, words, how)
        guest.passed = how.passed
    return not guest.passed


def count_frozen(
    guest: machine.Machine, events: Sequence[str], words: Sequence[str], run: Path, repeat: int
) -> list[Run]:
    """Count the program on count-1, each time from the start. What it prints is shown once, of the run that notes its
    files if there is one. Fewer runs than wanted: the user has ended it."""
    how = frozen.Noting(events, guest.passes, {})
    if not _noted(guest, how, events, words, run):
        return [_read(how.counts, events, how.status)] if how.counts and how.counts.is_file() else []
    runs: list[Run] = []
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(repeat):
        file = run / "share/counts"
        status = machine.boot(guest, run, words, events=events, **(silent if runs or how.counts else {}))
        if not file.is_file():
            if not guest.passed:
                raise Died(f"nothing was counted: the guest ended with status {status}")
            break
        runs.append(_read(file, events, status))
        file.unlink()
        if guest.passed:
            break
    if how.counts and runs and runs[0].status != how.status:
        say(f"{words[0]} ended with status {how.status} when its files were noted, and then with {runs[0].status}")
    return runs


def traced(guest: machine.Machine, words: Sequence[str], run: Path) -> list[Function]:
    """One more run, whose every branch is recorded: what each function executed."""
    options = ["--windows=all"]
    machine.deliver_windows(guest, options)
    guest.runs = 1
    if guest.frozen:
        guest = replace(guest, frozen=replace(guest.frozen, program=None), passes=False)
        recorded = [guest.lwprun, "--quiet", "-o", f"{GUEST_SHARE}/trace.lwp.1", *options, "--", *words]
        machine.boot(guest, run, recorded, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    else:
        _boot(guest, run, "trace", options, words)
    data = run / "share/trace.lwp.1"
    if guest.passed:
        return []
    if not data.is_file():
        raise Died("no branches were recorded")
    functions: list[Function] = _report(data, "--exact", "--limit=0")["functions"]
    return functions


def functions_table(functions: Sequence[Function]) -> str:
    """Instructions, those of callees with them, and calls of each function, the greatest first."""
    rows = [["instructions", "with callees", "calls", "function"]]
    for row in functions:
        numbers = [str(row[key]) for key in ("instructions", "with_callees", "calls")]
        rows.append([*numbers, f"{row['symbol']}  {row['object']}"])
    return "\n".join("  ".join([*(word.rjust(15) for word in row[:3]), row[3]]) for row in rows)


def _result(
    args: argparse.Namespace, name: str, runs: Sequence[Run], functions: Sequence[Function]
) -> dict[str, Any]:
    first = runs[0]
    return {
        "schema": baseline.SCHEMA,
        "command": args.program,
        **({"machine": name} if name else {}),
        "statuses": [run.status for run in runs],
        "runs": [run.total for run in runs],
        "same": {event: same(runs, event) for event in first.total},
        "threads": first.threads,
        "ended_by_process": {
            "threads": first.others, "counts": {event: first.rest(event) for event in first.total if event in EVENTS}
        },
        "still_running": first.running,
        "not_counted": first.not_counted,
        **({"functions": functions} if args.by == "function" else {}),
    }


def _markdown(runs: Sequence[Run], before: baseline.Baseline | None, name: str) -> str:
    total = runs[0].total
    rows: dict[str, list[Any]] = {"count": list(total.values())}
    if before:
        known = {event: before.total.get(event) for event in total}
        rows["baseline"] = ["" if number is None else number for number in known.values()]
        rows["change"] = [
            "" if old is None else f"{baseline.change(old, total[event]):+.4f}%" for event, old in known.items()
        ]
    return baseline.markdown(list(total), rows, name)


def _show(
    args: argparse.Namespace, name: str, runs: Sequence[Run], functions: Sequence[Function],
    before: baseline.Baseline | None,
) -> None:
    text = json.dumps(_result(args, name, runs, functions), indent=2)
    if args.save:
        args.save.write_text(text + "\n", encoding="utf-8")
    if args.json:
        print(text)
        return
    print(_markdown(runs, before, name) if args.markdown else table(runs, args.by == "name"))
    if name and not args.markdown:
        print(name)
    if args.by == "function":
        print(f"\n{functions_table(functions)}")


def _count(
    args: argparse.Namespace, guest: machine.Machine, events: Sequence[str], run: Path,
    before: baseline.Baseline | None,
) -> int:
    guest.passes, user_stats = not guest.in_lab, guest.stats
    if guest.frozen:
        runs = count_frozen(guest, events, args.program, run, args.repeat)
    else:
        if args.repeat > 1 or args.by == "function":
            keep_input(run / "share" / INPUT)
        say(f"counting {shlex.join(args.program)}, {'once' if args.repeat == 1 else f'{args.repeat} times'} ...")
        guest.runs = args.repeat
        runs = count(guest, events, args.program, run)
    output = run / "share/out.0"
    if output.is_file():
        sys.stdout.flush()
        with output.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    if user_stats and runs and not guest.frozen:
        shutil.copyfile(f"{guest.stats}.{len(runs)}", user_stats)
    functions = traced(guest, args.program, run) if args.by == "function" and runs and not guest.passed else []
    name = str(guest.frozen or "")
    if runs:
        _show(args, name, runs, functions, before)
    if guest.passed:
        return 128 + guest.passed
    if len(runs) < args.repeat:
        raise Died(f"run {len(runs) + 1} of {args.repeat}: the guest ended before the program")
    return _judge(args, name, runs, before)


def _judge(args: argparse.Namespace, name: str, runs: Sequence[Run], before: baseline.Baseline | None) -> int:
    """Say what was too much, and how the program ended. Result: the exit status."""
    missing = [event for event, _ in args.max if event not in runs[0].total]
    if missing:
        raise Died(f"this guest does not count {missing[0]}")
    over = exceeded(runs, args.max)
    if before:
        if other := baseline.other_machine(before, name):
            say(other)
        over += baseline.grown(before, runs[0].total, args.threshold)
    for line in over:
        say(line)
    failed = [one.status for one in runs if one.status]
    if failed:
        say(f"{args.program[0]} {how_ended(failed[0])}")
        return failed[0]
    return OVER_LIMIT if over else 0


def _before(args: argparse.Namespace) -> baseline.Baseline | None:
    """What --baseline names, if it does; and FILE of --save can be written."""
    if not args.program and not args.capsule:
        raise Usage("count what? Give a program after --")
    before = baseline.read(args.baseline) if args.baseline else None
    if args.save:
        writable(args.save)
    return before


def of_rows(counts: process.Counts, events: Sequence[str], status: int, running: int) -> Run:
    """A run from the file of the emulator of programs."""
    threads = [
        {
            "process": row.process, "tid": row.tid, "name": row.name,
            "counts": {event: row.counts[event] for event in events},
        }
        for row in counts.rows
    ]
    total = {event: sum(row.counts[event] for row in counts.rows) for event in events}
    killed = sum(row.end == process.End.RUNS for row in counts.rows)
    losses = {"killed": killed, "left_out": counts.left_out}
    return Run(total, threads, 0, status, running, {what: number for what, number in losses.items() if number})


def _refuse(args: argparse.Namespace) -> tuple[str, ...]:
    """What --process does not have. Result: the events."""
    machine.refuse_guest(args)
    if args.by == "function":
        raise Usage("--process counts no functions: leave out --by")
    wanted = [*(args.events or ()), *(event for event, _ in args.max), *([TAKEN] if args.taken else [])]
    if other := [event for event in wanted if event not in process.EVENTS]:
        raise Usage(f"--process counts {' and '.join(process.EVENTS)}, no {other[0]}")
    return args.events or process.EVENTS


def _count_process(args: argparse.Namespace, before: baseline.Baseline | None) -> int:
    events = _refuse(args)
    environment = process.environment(dict(machine.variable(text) for text in args.env))
    words = process.program(args.program, environment)
    if not RELEASE:
        deps.ensure()
        qemu.ensure_user()
    runs: list[Run] = []
    with run_directory() as run:
        kept = keep_input(run / INPUT) if args.repeat > 1 else None
        for _ in range(args.repeat):
            ended = process.run(words, environment, run, kept, silent=bool(runs))
            runs.append(of_rows(ended.counts, events, ended.status, ended.running))
            if ended.passed:
                break
    _show(args, process.seen(), runs, [], before)
    if (warning := process.not_repeatable(ended.counts)) and not args.json:
        print(warning)
    return 128 + ended.passed if ended.passed else _judge(args, process.seen(), runs, before)


def main(args: argparse.Namespace) -> int:
    if args.process:
        return _count_process(args, _before(args))
    guest = machine.from_options(args, default=count1.Count1)
    if not args.program:
        raise Usage("count what? Give a program after --")
    events = events_of(guest, args.events or (), args.max)
    if args.taken or any(event == TAKEN for event, _ in args.max):
        if not guest.frozen:
            raise Usage(f"{TAKEN} are counted on {count1.NAME} only")
        events = (*events, TAKEN)
    before = _before(args)
    machine.prepare(guest)
    with run_directory() as run:
        return _count(args, guest, events, run, before)
