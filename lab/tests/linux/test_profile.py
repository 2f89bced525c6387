# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of programs in guests (`./vlwp run`) beside what these programs do."""

import json
import re
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from lab.common import proc
from lab.common.places import LWPCTL, LWPRUN
from lab.guest.vm import GUEST_SHARE
from lab.nested import machine
from lab.testing import callgrind, windows
from lab.tests.conftest import good, run
from lab.tests.linux.tools import VLWP, WORKLOAD, compiled, parted

SIZE = "4000"  # thousand instructions: enough for the samples
PATIENCE = 600  # seconds until the program ends though the top has shown nothing, which fails
TOP_COMMAND = re.compile(r"in another terminal: .* top (\S+)$")
ROW = re.compile(r"^ *([0-9.]+)% +([0-9.]+)% +(\d+)  (hot_\S+)  \((\S+)\)$", re.MULTILINE)


def shown(lines: Iterable[str], seen: Path) -> str:
    """What top shows. Once it shows a function of the program, there is a file, for which the program waits."""
    text = ""
    late = threading.Timer(PATIENCE, seen.touch)
    late.start()
    for line in lines:
        text += line
        if ROW.search(line):
            seen.touch()
    late.cancel()
    return text


@pytest.mark.long
def test_profile(tmp_path: Path, seed: int) -> None:
    """The profile of the workload has the shares of the truth, and lwpctl top shows it while the guest runs.

    The rings are emptied twenty times a second. The top shows functions of the program before it ends, and all samples
    at the end. The program gets the name of a file for which it waits."""
    words, data, log = [str(WORKLOAD), str(seed), SIZE], tmp_path / "data", tmp_path / "log"
    options = ["--live=50ms", "--event=instructions:191", "--ring-size=4M"]
    command: list[proc.Word] = [VLWP, "run", "--live", "--report=--json", f"--data={data}"]
    command += [*(f"--lwprun={one}" for one in options), "--", *words, f"{GUEST_SHARE}/seen"]
    pipe = subprocess.PIPE
    with log.open("w", encoding="utf-8") as output:
        with proc.start(command, stdout=output, stderr=pipe, text=True) as it:
            assert it.stderr
            path = next((found[1] for line in it.stderr if (found := TOP_COMMAND.search(line.strip()))), None)
            assert path, "run does not say which command shows the profile"
            errors = subprocess.STDOUT
            with proc.start([LWPCTL, "top", "--delay=0.1", path], stdout=pipe, stderr=errors, text=True) as top:
                assert top.stdout
                text = shown(top.stdout, Path(path).with_name("seen"))
            print(it.stderr.read())
    frames = text.split("Symbol  (object)")
    print(frames[-2][-300:], frames[-1])
    assert (it.returncode, top.returncode) == (0, 0)
    assert any(map(ROW.search, frames[1:-1])), "no frame before the last has a function of the program"
    samples = parted(log.read_text(encoding="utf-8"))[0]["events"][0]["samples"]
    assert re.findall(r"at the end, (\d+) samples of instructions", text) == [str(samples)]
    print(callgrind.shares(tmp_path, words, data))


# $0: the tool; the rest: the program.
WINDOWS = 'for how in =31:3000 "" =all; do "$0" -q "--windows$how" -o "$VLWP_SHARE/windows$how" -- "$@" || exit; done'


def test_windows(tmp_path: Path, seed: int) -> None:
    """Windows of branches are paths in the workload, their weights add up, and all of them are the whole trace."""
    (tmp_path / "share").mkdir()
    command = ["/bin/sh", "-c", WINDOWS, str(LWPRUN), str(WORKLOAD), str(seed), "2000"]
    assert machine.boot(machine.Machine(), tmp_path, command, stdin=subprocess.DEVNULL) == 0
    profiles = sorted((tmp_path / "share").iterdir())
    assert len(profiles) == 3
    for data in profiles:
        print(windows.are_paths(data, WORKLOAD, data.name == "windows=all"))


MISSES = (VLWP, "run", "--lwprun=--event=dcache-misses", "--report=--json")


def test_misses(seed: int) -> None:
    """Data cache misses of the bundled workload name its pointer chase and its nodes first, whatever the seed.

    It is the only function whose data is no cache's size."""
    event = parted(good([*MISSES, "--", WORKLOAD, str(seed), "100000"]))[0]["events"][0]
    first, data = event["symbols"][0], event["data"][0]
    assert first["symbol"] == "hot_chase"
    where = (data["symbol"], data["variable"], data["data"].rpartition("/")[2])
    assert where == ("hot_chase", "nodes", "workload .bss")


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


def test_data(tmp_path: Path) -> None:
    """What a data cache miss wanted is named: variable and section, heap, stack, file, nameless memory.

    Each walk misses in memory of one kind alone; the last in a heap that has just grown."""
    built, numbers, data = compiled(tmp_path / "walks.c", WALKS, "-O1"), tmp_path / "numbers", tmp_path / "data"
    numbers.write_bytes(bytes(256 << 10))
    rows = parted(good([*MISSES, f"--data={data}", "--", built, numbers]))[0]["events"][0]["data"]
    found = {
        row["symbol"]: (row["variable"], row["data"].rpartition("/")[2])
        for row in reversed(rows) if row["symbol"].startswith("walk_")
    }
    assert found == PLACES
    text = proc.output([LWPCTL, "decode", data])
    for pattern in (r"in=\[heap\]$", r"in=filled\+0x[0-9a-f]+ .*/walks \.data$", r"in=.*/numbers$"):
        assert re.search(pattern, text, re.MULTILINE), f"decode has no {pattern}"
    assert " walks .data\n" in good([LWPCTL, "report", "--by=data", data])


# $1, $2: tool and reader; the rest: the program. The third profile counts completely.
CHOSEN = """
lwprun=$1; lwpctl=$2; shift 2
for options in --event=instructions --event=dcache-misses "--random=0 --event=instructions:100003,dcache-misses:10007"
do
    "$lwprun" -q $options -o /tmp/chosen -- "$@" >/dev/null 2>&1 || exit 1
    "$lwpctl" report --json --limit=1 /tmp/chosen && echo ,
done
"""
FEW, MANY = 5000, 20000


@pytest.mark.long
def test_chosen() -> None:
    """Without an interval some 10,000 samples come of a rare event as of a common one, and stand for all.

    470 million instructions and 26 million misses have 23,000 and 114,000 samples with the first intervals. Misses
    depend on addresses, which are others in each run."""
    script = ["/bin/sh", "-c", CHOSEN, "sh", str(LWPRUN), str(LWPCTL)]
    text = good([VLWP, "shell", "--", *script, WORKLOAD, "1", "400000"])
    reports = json.loads("[" + text[text.index("{"):].rstrip(",\n") + "]")
    common, rare, *complete = (event for report in reports for event in report["events"])
    assert all(event["counted_exactly"] for event in complete)
    for event, truth, most in zip((common, rare), complete, (0.001, 0.02), strict=True):
        far = event["counted"] / truth["counted"] - 1
        print(f"{event['event']}: {event['samples']} samples, 1 of {event['kept_of']}, {far:+.3%}")
        assert FEW <= event["samples"] <= MANY and event["kept_of"] > 1, "not some 10,000, or not thinned"
        assert abs(far) < most, f"farther than {most:.1%} from all"


# Two functions one after the other, and between them a moment that is printed; with where they begin.
PHASES = """#include <stdio.h>
#include <time.h>
__attribute__((noinline)) void first(void) { for (volatile int i = 0; i < 2000000; i++); }
__attribute__((noinline)) void second(void) { for (volatile int i = 0; i < 2000000; i++); }
int main(void)
{
    struct timespec pause = { 0, 20000000 }, now;
    first();
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanosleep(&pause, NULL);
    second();
    printf("%#lx %#lx %ld%09ld\\n", (long)first, (long)second, now.tv_sec, now.tv_nsec);
    return 0;
}
"""
STAMPED = re.compile(r" instructions .* address=(0x[0-9a-f]+) time=(\d+)$", re.MULTILINE)


def test_stamps(tmp_path: Path) -> None:
    """Records have the times at which they were stored, though their ring was drained once, at the end."""
    built, data = compiled(tmp_path / "phases.c", PHASES, "-O1", "-no-pie"), tmp_path / "data"
    options = ("--lwprun=--event=instructions:2003", "--lwprun=--ring-size=64M")
    said = good([VLWP, "run", *options, f"--data={data}", "--", built])
    first, second, between = (int(word, 0) for word in said.partition("\n")[0].split())
    stamped = [(int(at, 0), int(time)) for at, time in STAMPED.findall(good([LWPCTL, "decode", data]))]
    of_first = [time for at, time in stamped if first <= at < second]
    of_second = [time for at, time in stamped if second <= at < second + (second - first)]
    assert min(len(of_first), len(of_second)) > 1000
    assert max(of_first) < between < min(of_second)


ASAN_PROGRAM = """#include <stdlib.h>
int main(void) { char *p = malloc(8); for (volatile int i = 0; i < 300000; i++) p[i % 8] = 1; free(p); return 7; }
"""


def test_asan(tmp_path: Path) -> None:
    """A program with AddressSanitizer is profiled, and its status is that of run.

    gcc links the sanitizer's library dynamically, which wants to be the first."""
    built = compiled(tmp_path / "asan.c", ASAN_PROGRAM, "-fsanitize=address")
    ended = run([VLWP, "run", f"--data={tmp_path}/data", "--", built])
    assert ended.status == 7
    assert ": 1 program, 1 thread" in ended.said or "of 1 thread in 1 program" in ended.said, "it was not profiled"
