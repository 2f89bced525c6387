# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test linux: programs in a Linux guest: known code, threads, and a profile beside the truth."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lab.building import kernel, qemu, tools
from lab.common import proc
from lab.common.beside import side_by_side
from lab.common.places import LINUX_PROGRAMS, LWPCTL, LWPRUN, TOP
from lab.common.report import Check, Report
from lab.common.steps import jobs_count
from lab.guest import machine
from lab.guest.vm import run_directory
from lab.testing import (
    caches, callgrind, calls, cases, debug, derived, examples, followed, guests, interrupted, judged, live, pgo,
    plugging, pmcbench, results, rr, seeds, ways, windows,
)
from lab.testing.part import Case, Part, apart, quoted

VLWP = TOP / "vlwp"
WORKLOAD = LINUX_PROGRAMS / "workload"
LINUXTESTS = LINUX_PROGRAMS / "linuxtests"
PLAIN = ("--smp=2",)
WITH_COUNTERS = ("--smp=2", "--cpu=pmu=on,+perfctr-core,+perfmon-v2,+amd-lbr-v2,+amd-lbr-pmc-freeze,+ibs")
NEED_COUNTERS = ("perf", "lbr", "ibs")
# Intel's, in the versions 2, 4 and 5: what Linux says of them at boot.
INTEL = (("Penryn", "Core2 events"), ("Skylake-Client", "Skylake events"), ("SapphireRapids", "Sapphire Rapids events"))
SIZE = 4000  # thousand instructions: enough for the samples
SAMPLES = 20000  # at least
TOLERANCE = 0.02  # of a share
CONTEXTS = 10  # that the programs create, at least
ENDS = 16  # instructions of lwprun's library before the first branch of a trace and after the last, at most
LOST = ("dropped", "evicted", "unreadable")


def _programs() -> list[tuple[str, str]]:
    """The test programs and a line about each, as linuxtests lists them."""
    lines = proc.output([LINUXTESTS, "--list"]).splitlines()
    return [(name, text.strip()) for name, _, text in (line.partition(" ") for line in lines)]


def _options(name: str) -> Sequence[str]:
    return WITH_COUNTERS if name in NEED_COUNTERS else PLAIN


def _guest_command(name: str) -> list[str]:
    options = _options(name)
    return proc.words([VLWP, "shell", *options, "--", LINUXTESTS, name])


def _in_guest(report: Report, names: Sequence[str], options: Sequence[str]) -> None:
    """Test programs in one guest; linuxtests counts."""
    log = report.work / "linuxtests"
    with (report.work / "log").open("a", encoding="utf-8") as errors:
        report.tee([VLWP, "shell", *options, "--", LINUXTESTS, *names], log, stderr=errors)
    report.add_closing(log.read_text(encoding="utf-8"), "linuxtests")


def _programs_together(report: Report, names: Sequence[str]) -> None:
    """Many threads are profiled, and none of their contexts is lost."""
    stats = report.work / "stats"
    _in_guest(report, names, ["--smp=2", f"--stats={stats}"])
    report.check("contexts are created", _contexts_created, stats)
    for how in LOST:
        report.check(f"no context is {how}", _none_lost, stats, how)


def _statistic(stats: Path, name: str) -> list[int]:
    """The values of a statistic, one for each CPU."""
    rows = (line.split() for line in stats.read_text(encoding="utf-8").splitlines())
    return [int(value) for _, found, value in rows if found == name]


def _contexts_created(check: Check, stats: Path) -> None:
    created = _statistic(stats, "contexts-created")
    check.say(f"created: {created}")
    check.want(created and created[0] >= CONTEXTS, f"fewer than {CONTEXTS}")


def _none_lost(check: Check, stats: Path, how: str) -> None:
    lost = _statistic(stats, f"contexts-{how}")
    check.say(f"{how}: {lost}")
    check.want(lost == [0, 0], "wanted: two CPUs, none lost")


def _pmcbench(report: Report) -> None:
    if report.check("pmcbench measures in a guest with counters", pmcbench.tables, report.work):
        name = "four NOPs are 4 instructions and no branch, by RDPMC and in LWP's records"
        report.check(name, pmcbench.right, report.work)


def _intel(check: Check, model: str, events: str) -> None:
    """Linux finds Intel's counters, and perf on them passes."""
    script = 'dmesg | grep "Performance Events"; exec "$0" perf'
    shell: list[str | Path] = [VLWP, "shell", "--smp=2", f"--model={model}", "--cpu=pmu=on", "--"]
    status, out = check.text([*shell, "/bin/sh", "-c", script, LINUXTESTS])
    check.want(events in out, f"Linux does not say {events}")
    check.want(status == 0, f"status {status}")


def _profiled(check: Check, seed: int) -> None:
    """What it executes is the same everywhere."""
    words, data = [str(WORKLOAD), str(seed), str(SIZE)], check.work / "data"
    live.follow(check, ["--lwprun=--event=instructions:191", "--lwprun=--ring-size=4M", f"--data={data}"], words)
    shares_are_right(check, words, data)


def shares_are_right(check: Check, words: Sequence[str], data: Path, own: bool = False) -> None:
    """Each function of a program has the share of all instructions that callgrind counts, within 2 points. own: of
    the instructions in the program's own functions, for short runs, in which the dynamic loader, that runs before LWP
    is on, has a large part."""
    costs = callgrind.of(check, words)
    truth = costs.functions(Path(words[0]))
    status, text = check.text([LWPCTL, "report", "--json", data])
    check.want(status == 0, f"lwpctl ends with status {status}")
    (event,) = [event for event in json.loads(text)["events"] if event["event"] == "instructions"]
    check.want(event["samples"] >= SAMPLES, f"{event['samples']} samples, fewer than {SAMPLES}")
    shares = {row["symbol"]: row["share"] for row in event["symbols"] if row["object"] == words[0]}
    total = sum(truth.values()) if own else costs.total()
    seen = sum(shares.get(name, 0) for name in truth) if own else 1
    wrong = []
    for name, number in truth.items():
        right, there = number / total, shares.get(name, 0) / seen
        check.say(f"{name:16} truth {right:6.2%}, profile {there:6.2%}")
        wrong += [name] * (abs(right - there) > TOLERANCE)
    check.want(not wrong, f"not the shares of the truth: {' '.join(wrong)}")


WINDOWS_LINE = "windows of branches are paths in the program, and all of them the whole trace"
WINDOWS = ("--windows=31:3000", "--windows", "--windows=all")


def _windows(check: Check, option: str) -> None:
    """Of the workload. All of them are all its branches."""
    data = check.work / "windows.data"
    check.run([VLWP, "run", f"--lwprun={option}", f"--data={data}", "--", str(WORKLOAD), str(seeds.draw()), "2000"])
    windows.are_paths(check, data, WORKLOAD, option == "--windows=all")


def _all_windows(report: Report) -> None:
    for option in WINDOWS:
        report.check(f"lwprun {option}: each window is a path in the workload, their weights add up", _windows, option)


MISSES_LINE = "data cache misses of the bundled workload name its pointer chase and its nodes first"
MISSES = ("run", "--lwprun=--event=dcache-misses", "--report=--json")


def _event(text: str) -> dict[str, Any]:
    """The first event of a report in JSON, behind what `run` says."""
    found = re.search(r"^\{.*", text, re.MULTILINE | re.DOTALL)
    assert found
    event: dict[str, Any] = json.loads(found[0])["events"][0]
    return event


def _misses(check: Check) -> None:
    """Whatever the seed: its pointer chase is the only function whose data is no cache's size."""
    words = [str(LINUX_PROGRAMS / "workload"), str(seeds.draw()), "100000"]
    status, text = check.text([VLWP, *MISSES, "--", *words])
    event = _event(text)
    first, data = event["symbols"][0], event["data"][0]
    check.want(status == 0 and first["symbol"] == "hot_chase", f"status {status}, first is {first}")
    where = (data["symbol"], data["variable"], data["data"].rpartition("/")[2])
    check.want(where == ("hot_chase", "nodes", "workload .bss"), f"first data is {data}")


# Walks of memory of each kind, eight times as large as a data cache of 32 KiB; each node is a line.
WALKS = """#include <alloca.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#define SIZE (256 << 10)
#define WALK(name) __attribute__((noinline)) static void walk_##name(volatile char *p) \\
    { for (int round = 0; round < 20; round++) for (int i = 0; i < SIZE; i += 64) p[i]; }
WALK(heap) WALK(stack) WALK(anonymous) WALK(file) WALK(data) WALK(constants) WALK(late)
static char filled[SIZE] = { 1 };
static const char constant[SIZE] = { 1 };
int main(int argc, char **argv)
{
    char *heap = NULL, *stack = alloca(SIZE);
    for (int i = 0; i < SIZE / 4096; i++) { char *p = malloc(4096); if (!heap) heap = p; }
    walk_heap(heap);
    walk_stack(stack);
    walk_anonymous(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    walk_file(mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, open(argv[1], O_RDONLY), 0));
    walk_data(filled);
    walk_constants((char *)constant);
    for (int i = 0; i < SIZE / 4096; i++) { char *p = malloc(4096); if (!i) heap = p; }
    walk_late(heap);
    return 0;
}
"""
PLACES = {
    "walk_heap": ("-", "[heap]"), "walk_stack": ("-", "[stack]"), "walk_anonymous": ("-", "[anon]"),
    "walk_file": ("-", "numbers"), "walk_data": ("filled", "walks .data"),
    "walk_constants": ("constant", "walks .rodata"), "walk_late": ("-", "[heap]"),
}
DATA_LINE = "what a data cache miss wanted is named: variable and section, heap, stack, file, nameless memory"


def _data(check: Check) -> None:
    """Each walk misses in memory of one kind alone; the last in a heap that has just grown."""
    source, built, numbers, data = (check.work / name for name in ("walks.c", "walks", "numbers", "walks.lwp"))
    source.write_text(WALKS, encoding="ascii")
    numbers.write_bytes(bytes(256 << 10))
    check.run(["gcc", "-O1", source, "-o", built])
    command = [str(VLWP), *MISSES, f"--data={data}", "--", str(built), str(numbers)]
    status, text = check.text(command)
    found = {
        row["symbol"]: (row["variable"], row["data"].rpartition("/")[2])
        for row in reversed(_event(text)["data"]) if row["symbol"].startswith("walk_")
    }
    check.want(status == 0 and found == PLACES, f"status {status}, {found}")
    _, text = check.text([LWPCTL, "decode", data])
    for pattern in (r"in=\[heap\]$", r"in=filled\+0x[0-9a-f]+ .*/walks \.data$", r"in=.*/numbers$"):
        check.want(re.search(pattern, text, re.MULTILINE), f"decode has no {pattern}")
    _, text = check.text([LWPCTL, "report", "--by=data", data])
    check.want(" walks .data\n" in text, "report --by=data has no walks .data")


# $1, $2: tool and reader; the rest: the program. The third profile counts completely.
CHOSEN = """
lwprun=$1; lwpctl=$2; shift 2
for options in --event=instructions --event=dcache-misses "--random=0 --event=instructions:100003,dcache-misses:10007"
do
    "$lwprun" -q $options -o /tmp/chosen -- "$@" >/dev/null 2>&1 || exit 1
    "$lwpctl" report --json --limit=1 /tmp/chosen && echo ,
done
"""
CHOSEN_LINE = "without an interval some 10,000 samples come of a rare event as of a common one, and stand for all"
CHOSEN_RANGE = range(5000, 20001)


def _chosen(check: Check) -> None:
    """585 million instructions and 32 million misses have 29,000 and 143,000 samples with the first intervals. Misses
    depend on addresses, which are others in each run."""
    words = [str(LINUX_PROGRAMS / "workload"), "1", "500000"]
    shell: list[str | Path] = [VLWP, "shell", *PLAIN, "--", "/bin/sh", "-c", CHOSEN, "sh", LWPRUN, LWPCTL]
    status, text = check.text([*shell, *words])
    reports = json.loads("[" + text[text.index("{"):].rstrip(",\n") + "]")
    common, rare, *complete = (event for report in reports for event in report["events"])
    check.want(status == 0 and all(event["counted_exactly"] for event in complete), f"status {status}, {complete}")
    for event, truth, most in zip((common, rare), complete, (0.001, 0.02)):
        samples, far = event["samples"], event["counted"] / truth["counted"] - 1
        check.say(f"{event['event']}: {samples} samples, 1 of {event['kept_of']}, {far:+.3%} of {truth['counted']:.0f}")
        check.want(samples in CHOSEN_RANGE and event["kept_of"] > 1, "not some 10,000, or not thinned")
        check.want(abs(far) < most, f"farther than {most:.1%} from all")


ASAN_PROGRAM = """#include <stdlib.h>
int main(void) { char *p = malloc(8); for (volatile int i = 0; i < 300000; i++) p[i % 8] = 1; free(p); return 7; }
"""


def _asan(report: Report) -> None:
    report.check("a program with AddressSanitizer is profiled, and its status is run's", _asan_program)


def _asan_program(check: Check) -> None:
    """gcc links the sanitizer's library dynamically, which wants to be the first."""
    source, built, data = (check.work / f"asan{end}" for end in (".c", "", ".data"))
    source.write_text(ASAN_PROGRAM, encoding="ascii")
    check.run(["gcc", "-fsanitize=address", source, "-o", built])
    status, text = check.text([VLWP, "run", f"--data={data}", "--", str(built)], stderr=True)
    check.want(status == 7, f"status {status}, wanted 7")
    check.want(": 1 program, 1 thread" in text or "of 1 thread in 1 program" in text, "it was not profiled")


@dataclass
class Counted:
    """What `count --json` says of a run of the workload, and what callgrind counts: instructions of each function."""

    result: dict[str, Any]
    text: str
    truth: Mapping[str, int]


def _counted(check: Check, size: int, wanted: int, *options: str) -> Counted:
    """The seed is fixed: printing another result would take other instructions of the C library, which
    are not compared."""
    words = [str(WORKLOAD), "1", str(size)]
    status, text = check.text([VLWP, "count", "--json", *options, "--", *words], stderr=True)
    check.want(status == wanted, f"count ends with status {status}, wanted {wanted}")
    found = re.search(r"^\{.*^\}", text, re.MULTILINE | re.DOTALL)
    check.want(found, "count says nothing")
    return Counted(json.loads(found[0] if found else ""), text, callgrind.of(check, words).functions(WORKLOAD))


def _counts_are_exact(check: Check, counted: list[Counted]) -> None:
    """The larger of two workloads has as many more instructions as callgrind counts, whatever else is counted, and two
    runs have the same."""
    counted.append(_counted(check, 300, 3, "--repeat=2", "--taken", "--by=function", "--max=branches:1000"))
    small, large = counted[0], _counted(check, 600, 0, "--events=instructions")
    check.want(list(large.result["runs"][0]) == ["instructions"], f"more is counted: {large.result['runs'][0]}")
    first, second = small.result["runs"]
    for event in ("instructions", "branches"):
        check.want(first[event] == second[event], f"two runs differ in their {event}: {first}, {second}")
    own = [sum(one.truth.values()) for one in (small, large)]
    more = large.result["runs"][0]["instructions"] - first["instructions"]
    check.want(more == own[1] - own[0], f"{more} instructions more, the truth is {own[1] - own[0]}")


def _taken_are_branches(check: Check, counted: Counted) -> None:
    """Taken branches are some of the branches, and a limit that is exceeded is status 3 and a line."""
    run = counted.result["runs"][0]
    check.want("are more than 1000" in counted.text, "no line about the limit")
    check.want(0 < run["taken-branches"] < run["branches"], f"taken branches are not a part of the branches: {run}")


def _functions_are_the_truth(check: Check, counted: Counted) -> None:
    """Each function of the program has as many instructions as callgrind counts. All of them together are as many as
    the counters say, but for those of lwprun's library before the first branch and after the last: no system call."""
    functions = counted.result["functions"]
    got = {row["symbol"]: row["instructions"] for row in functions if row["object"].endswith("/workload")}
    hot = [name for name in counted.truth if name.startswith("hot_")]
    check.say(f"counted {got}, truth {counted.truth}")
    check.want(hot and all(got.get(name) == counted.truth[name] for name in hot), "not the truth")
    total = sum(row["instructions"] for row in functions)
    rest = counted.result["runs"][0]["instructions"] - total
    check.want(0 < rest <= ENDS, f"{total} instructions in all functions, {rest} less than counted")


def _count(report: Report) -> None:
    counted: list[Counted] = []
    if report.check("count: exact, and the same in two runs", _counts_are_exact, counted):
        report.check("count: taken branches, and a limit that is exceeded", _taken_are_branches, counted[0])
        line = "count --by=function: what each function executes is the truth"
        report.check(line, _functions_are_the_truth, counted[0])


class Linux(Part):
    """Programs in guests, pmcbench, a profile, and what ./vlwp shell promises."""

    name = "linux"

    def prepare_names(self) -> None:
        tools.build()

    def prepare(self) -> None:
        kernel.build()
        qemu.ensure()

    def cases(self) -> list[Case]:
        programs = [
            Case(f"programs/{name}", text, _one_program(name), quoted(_guest_command(name)), _gdb(name))
            for name, text in _programs()
        ]
        own = [  # long ones first
            Case("profile", "the profile of the workload has the shares of the truth", _profile),
            Case("count", "./vlwp count is exact, the same in each run, and keeps limits", _count),
            Case("ways", ways.LINE, ways.run),
            Case("interrupted", interrupted.LINE, interrupted.run),
            Case("pgo", pgo.LINE, pgo.run),
            Case("pmcbench", "pmcbench's tables are what its snippets are made of", _pmcbench),
            Case("windows", WINDOWS_LINE, _all_windows),
            Case("misses", MISSES_LINE, lambda report: report.check(MISSES_LINE, _misses)),
            Case("chosen", CHOSEN_LINE, lambda report: report.check(CHOSEN_LINE, _chosen)),
            Case("data", DATA_LINE, lambda report: report.check(DATA_LINE, _data)),
            Case("selfprofile", examples.LINE, examples.run),
            Case("followed", followed.LINE, followed.run),
            Case("cachegrind", caches.LINE, caches.run),
            Case("callgrind", calls.LINE, calls.run),
            Case("results", results.JAVA_LINE, results.java),
            Case("judged", judged.line_of(judged.SUBJECTS[0]), judged.run),
            _simple("ibs-derived", derived.LINE, derived.run),
            Case("plug", plugging.LINE, lambda report: report.check(plugging.LINE, plugging.profiled)),
            _simple("measurement", "pmcbench repeats a measurement of four NOPs on Zen 2", pmcbench.measurement),
            _simple("unmodelled", "pmcbench refuses an event of which TCG has no model", pmcbench.refused),
            *(_simple(f"rr/{name}", line, rr.works, options) for name, line, options in rr.RUNS),
            *(_simple(f"case/{name}", line, cases.holds, name, wanted) for name, line, wanted in cases.CASES),
            Case("asan", "a program with AddressSanitizer is profiled, and its status is that of run", _asan),
        ]
        line = "perf counts and samples with Intel's counters of {}"
        intel = [_simple(f"intel/{row[0]}", line.format(row[0]), _intel, *row) for row in INTEL]
        return [*programs, *own, *intel, *(_boot_case(*row) for row in guests.CHECKS)]

    def run(self, cases: Sequence[Case], report: Report) -> None:
        """Most programs run together in one guest, those for counters in one that has them; the rest side by side."""
        names = [case.name.removeprefix("programs/") for case in cases if case.name.startswith("programs/")]
        rest = [case for case in cases if len(names) == 1 or not case.name.startswith("programs/")]
        if len(names) > 1:
            # Alone: beside other guests it was seen once that a context could not be read for a while.
            _all_programs(names, report)
        if len(rest) == 1:
            rest[0].go(report)
        else:
            side_by_side([partial(apart, [case], report) for case in rest], jobs_count())


def _all_programs(names: Sequence[str], report: Report) -> None:
    _programs_together(report, names)
    counting = [name for name in names if name in NEED_COUNTERS]
    if counting:
        _in_guest(report, counting, WITH_COUNTERS)


def _profile(report: Report) -> None:
    seed = seeds.draw()
    report.line(f"workload: seed {seed}")
    line = "the workload is profiled, lwpctl top shows it meanwhile, and the shares are those of the truth"
    report.check(line, _profiled, seed)


def _one_program(name: str) -> Callable[[Report], object]:
    return lambda report: _in_guest(report, [name], _options(name))


def _simple(name: str, line: str, function: Callable[..., None], *args: object) -> Case:
    return Case(name, line, lambda report: report.check(line, function, *args))


def _boot_case(name: str, line: str, function: Callable[..., None], args: tuple[object, ...]) -> Case:
    return Case(f"guest/{name}", line, lambda report: report.check(line, guests.run, function, *args))


def _gdb(name: str) -> Callable[[Report], int]:
    """The program in a guest that waits for gdb, at the addresses that it has without randomisation."""

    def run(report: Report) -> int:
        program = LINUX_PROGRAMS / f"test_{name}"
        with run_directory() as run_dir:
            return debug.linux(machine.Machine(smp=1), program, run_dir, report.work)

    return run


PART = Linux()
