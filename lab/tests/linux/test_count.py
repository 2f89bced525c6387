# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp count is exact and the same in each run, keeps limits, and gives the number however the program ends."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.common.places import LINUX_PROGRAMS
from lab.testing import callgrind
from lab.tests.conftest import good, run
from lab.tests.linux.tools import VLWP, WORKLOAD, parted

WAYS = LINUX_PROGRAMS / "ways"
MORE = 400_000  # turns, of 2 instructions with a branch
LEFT = 9  # threads with a loop: one that is joined, and two in each of four processes that something ends
FIRST = """.globl _start
_start: mov $100000, %ecx
    lea space(%rip), %rdi
    xor %eax, %eax
    rep stosb
    mov $1000, %ecx
1:  mov $39, %eax
    push %rcx
    syscall
    pop %rcx
    dec %ecx
    jnz 1b
    mov $60, %eax
    xor %edi, %edi
    syscall
    .bss
space: .skip 100000
"""
STATUSES = {"kill -9 $$": 137, "kill -SEGV $$": 139}
VIRTUAL_MACHINES = {"java": ("-version",), "node": ("-e", "console.log(1)")}


@dataclass
class Counted:
    """What `count --json` has printed."""

    status: int
    said: str
    result: dict[str, Any]

    def rows(self, event: str) -> list[int]:
        """What each thread counted, the least first."""
        return sorted(int(thread["counts"][event]) for thread in self.result["threads"])


def count(options: list[str], *words: str, stdin: Any = subprocess.DEVNULL) -> Counted:
    """Count a program."""
    ended = run([VLWP, "count", "--json", *options, "--", *words], stdin=stdin)
    result, rest = parted(ended.out)
    return Counted(ended.status, rest + ended.err, result)


def of_workload(size: int, options: list[str]) -> Counted:
    """Of the workload. The seed is fixed: printing another result would take other instructions of the C library, which
    are not compared."""
    return count(options, str(WORKLOAD), "1", str(size))


@pytest.fixture(scope="module")
def small() -> Counted:
    """The smaller of two workloads, twice."""
    return of_workload(300, ["--repeat=2", "--taken", "--by=function", "--max=branches:1000"])


def truth(tmp_path: Path, size: int) -> dict[str, int]:
    """Instructions of each function as callgrind counts them."""
    return callgrind.of(tmp_path, [str(WORKLOAD), "1", str(size)]).functions(WORKLOAD)


@pytest.mark.xdist_group("count")
def test_count_exact(small: Counted, tmp_path: Path) -> None:
    """The larger of two workloads has as many more instructions as callgrind counts, whatever else is counted, and two
    runs have the same."""
    large = of_workload(600, ["--events=instructions"])
    assert large.status == 0 and list(large.result["runs"][0]) == ["instructions"]
    first, second = small.result["runs"]
    for event in ("instructions", "branches"):
        assert first[event] == second[event]
    own = [sum(truth(tmp_path, size).values()) for size in (300, 600)]
    assert large.result["runs"][0]["instructions"] - first["instructions"] == own[1] - own[0]


@pytest.mark.xdist_group("count")
def test_count_taken(small: Counted) -> None:
    """Taken branches are some of the branches, and a limit that is exceeded is status 3 and a line."""
    assert small.status == 3 and "are more than 1000" in small.said
    first = small.result["runs"][0]
    assert 0 < first["taken-branches"] < first["branches"]


@pytest.mark.xdist_group("count")
def test_count_functions(small: Counted, tmp_path: Path) -> None:
    """Each function of the program has as many instructions as callgrind counts. All of them together are fewer than
    the counters say, which count the loader from its first instruction."""
    rows, right = small.result["functions"], truth(tmp_path, 300)
    got = {row["symbol"]: row["instructions"] for row in rows if row["object"].endswith("/workload")}
    hot = [name for name in right if name.startswith("hot_")]
    assert hot and {name: got.get(name) for name in hot} == {name: right[name] for name in hot}
    assert 0 < small.result["runs"][0]["instructions"] - sum(row["instructions"] for row in rows)


BOTH = "--events=instructions,branches"


def test_count_first(tmp_path: Path) -> None:
    """From the program's first instruction to its last: SYSCALL counts, and a repeated string instruction once."""
    source, program = tmp_path / "first.S", tmp_path / "first"
    source.write_text(FIRST, encoding="ascii")
    good(["gcc", "-static", "-nostdlib", "-o", program, source])
    one = count(["--repeat=2", "--taken"], str(program))
    wanted = {"instructions": 6008, "branches": 1000, "taken-branches": 999}
    assert one.status == 0 and one.result["runs"] == [wanted, wanted]


@pytest.mark.long
def test_ways_exact() -> None:
    """Exact for threads that exit, a signal, a fault or an exec of another thread ends (ways.c): each has a row, and
    the difference of two sizes is that of its loop, to the instruction."""
    less, more = (count([BOTH], str(WAYS), "all", str(turns)) for turns in (100_000, 100_000 + MORE))
    for event, per_turn in (("instructions", 2), ("branches", 1)):
        busiest = zip(less.rows(event)[-LEFT:], more.rows(event)[-LEFT:], strict=True)
        assert [two - one for one, two in busiest] == LEFT * [MORE * per_turn], event
        for one in (less, more):
            assert one.status == 0 and one.result["statuses"] == [0]
            assert sum(one.rows(event)) == one.result["runs"][0][event]


def test_ways_joined() -> None:
    """Two threads, two rows, in each run; a limit does not change the program's status."""
    one = count([BOTH, "--repeat=2", "--max=branches:1000"], str(WAYS), "joined", "100000")
    assert one.status == 5 and one.result["statuses"] == [5, 5]
    assert "branches: " in one.said and "are more than 1000" in one.said
    assert len(one.result["threads"]) == 2 and one.result["same"] == {"instructions": True, "branches": True}


def test_ways_status() -> None:
    """The status is the program's, however it ends, and its instructions are counted."""
    for script, wanted in STATUSES.items():
        one = count([BOTH], "/bin/sh", "-c", script)
        assert one.status == wanted, script
        assert one.result["runs"][0]["instructions"] > 10_000


def test_ways_children() -> None:
    """Children that are killed, and children that live on: they are counted until then, and not in the next run."""
    one = count([BOTH], "/bin/bash", "-c", "sleep 100 & kill $!; wait $!; exit 0")
    assert one.status == 0 and not one.result["still_running"]
    one = count([BOTH, "--repeat=2"], "/bin/sh", "-c", "while :; do :; done & exit 3")
    assert one.result["statuses"] == [3, 3] and one.status == 3
    assert one.result["still_running"] == 1
    assert one.rows("instructions")[0] > 0, "the child that is left counts nothing"


def test_ways_input(tmp_path: Path) -> None:
    """Each of three runs gets the same input."""
    source = tmp_path / "lines"
    source.write_text("line\n" * 2000, encoding="ascii")
    with source.open("rb") as file:
        one = count([BOTH, "--repeat=3"], "/usr/bin/wc", "-l", stdin=file)
    runs = [(each["instructions"], each["branches"]) for each in one.result["runs"]]
    assert one.status == 0 and one.said.count("2000\n") == 1
    assert len(runs) == 3 and len(set(runs)) == 1


@pytest.mark.parametrize("name", VIRTUAL_MACHINES)
def test_ways_machine(name: str) -> None:
    """A number for Java and node, whose threads live until the end."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    one = count([BOTH, "--repeat=2"], name, *VIRTUAL_MACHINES[name])
    assert one.status == 0 and len(one.rows("instructions")) > 4
    assert one.rows("instructions")[0] > 0 and one.result["same"]["instructions"]
