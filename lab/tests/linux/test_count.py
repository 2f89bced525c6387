# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp count is exact and the same in each run, keeps limits, and gives the number however the program ends."""

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.common.places import LINUX_PROGRAMS
from lab.testing import callgrind
from lab.tests.conftest import run
from lab.tests.linux.tools import VLWP, WORKLOAD, parted

ENDS = 16  # instructions of lwprun's library before the first branch of a trace and after the last, at most
WAYS = LINUX_PROGRAMS / "ways"
MORE = 400_000  # turns, of 2 instructions with a branch
LEFT = 8  # threads that work until they are ended: two in each of four processes
STATUSES = {"kill -9 $$": 137, "kill -SEGV $$": 139}
VIRTUAL_MACHINES = {"java": ("-version",), "node": ("-e", "console.log(1)")}


@dataclass
class Counted:
    """What `count --json` has printed."""

    status: int
    said: str
    result: dict[str, Any]

    def rest(self, event: str) -> int:
        """What the threads that their process ended counted."""
        return int(self.result["ended_by_process"]["counts"][event])

    def most(self, event: str) -> int:
        """What the busiest of the threads that ended by themselves counted."""
        return max(int(thread["counts"][event]) for thread in self.result["threads"])


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
    """Each function of the program has as many instructions as callgrind counts. All of them together are as many as
    the counters say, but for those of lwprun's library before the first branch and after the last: no system call."""
    rows, right = small.result["functions"], truth(tmp_path, 300)
    got = {row["symbol"]: row["instructions"] for row in rows if row["object"].endswith("/workload")}
    hot = [name for name in right if name.startswith("hot_")]
    assert hot and {name: got.get(name) for name in hot} == {name: right[name] for name in hot}
    assert 0 < small.result["runs"][0]["instructions"] - sum(row["instructions"] for row in rows) <= ENDS


BOTH = "--events=instructions,branches"


@pytest.mark.long
def test_ways_exact() -> None:
    """Exact for threads that exit, a signal, a fault or an exec of another thread ends (ways.c).

    The difference of two sizes is that of the loops, to the instruction, in the thread that ended by itself and in
    those that were ended. The first threads are left out: how long they wait for others decides what they execute."""
    less, more = (count([BOTH], str(WAYS), "all", str(turns)) for turns in (100_000, 100_000 + MORE))
    for one in (less, more):
        assert one.status == 0 and one.result["statuses"] == [0]
        assert one.result["ended_by_process"]["threads"] == LEFT + 2  # the killed processes' first threads, too
    for event, per_turn in (("instructions", 2), ("branches", 1)):
        assert more.most(event) - less.most(event) == MORE * per_turn, event
        assert more.rest(event) - less.rest(event) == LEFT * MORE * per_turn, event
        for one in (less, more):
            apart = sum(thread["counts"][event] for thread in one.result["threads"]) + one.rest(event)
            assert apart == one.result["runs"][0][event]


def test_ways_joined() -> None:
    """The processors have counted what the counters of all threads say, in each run."""
    one = count([BOTH, "--repeat=2", "--max=branches:1000"], str(WAYS), "joined", "100000")
    assert one.status == 5 and one.result["statuses"] == [5, 5]
    assert "branches: " in one.said and "are more than 1000" in one.said
    assert len(one.result["threads"]) == 2
    assert one.rest("instructions") == one.rest("branches") == 0, "the sum over the threads is another number"


def test_ways_status() -> None:
    """The status is the program's, however it ends, and its instructions are counted."""
    for script, wanted in STATUSES.items():
        one = count([BOTH], "/bin/sh", "-c", script)
        assert one.status == wanted, script
        assert one.result["runs"][0]["instructions"] > 10_000


def test_ways_children() -> None:
    """Children that are killed, and children that live on: they are counted until then, and not in the next run."""
    one = count([BOTH], "/bin/bash", "-c", "sleep 100 & kill $!")
    assert one.status == 0 and not one.result["still_running"]
    one = count([BOTH, "--repeat=2"], "/bin/sh", "-c", "while :; do :; done & exit 3")
    assert one.result["statuses"] == [3, 3] and one.status == 3
    assert one.result["still_running"] == 1
    assert one.rest("instructions") > 0, "the child that is left counts nothing"


def test_ways_input(tmp_path: Path) -> None:
    """Each run gets the same input: three, and one more for taken branches."""
    source = tmp_path / "lines"
    source.write_text("line\n" * 2000, encoding="ascii")
    with source.open("rb") as file:
        one = count([BOTH, "--repeat=3", "--taken"], "/usr/bin/wc", "-l", stdin=file)
    runs = [(each["instructions"], each["branches"]) for each in one.result["runs"]]
    assert one.status == 0 and one.said.count("2000\n") == 1
    assert len(runs) == 3 and len(set(runs)) == 1
    assert 0 < one.result["runs"][0]["taken-branches"] < runs[0][1], "the run for taken branches has no input"


@pytest.mark.parametrize("name", VIRTUAL_MACHINES)
def test_ways_machine(name: str) -> None:
    """A number for Java and node, whose threads live until the end."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    one = count([BOTH], name, *VIRTUAL_MACHINES[name])
    assert one.status == 0 and one.result["ended_by_process"]["threads"] > 0
    assert one.rest("instructions") > 0 and not one.result["not_counted"]


# Programs that do the same in every run. Not Python: it reads the clock when it starts, and the vDSO's loops turn as
# often as the time has it.
TEXT = "/usr/share/common-licenses/GPL-3"

DETERMINISTIC: tuple[tuple[str, ...], ...] = (
    ("sha256sum", "/bin/ls"),
    ("sort", TEXT),
    ("gzip", "-c9", "-n", TEXT),
    ("xz", "-c", TEXT),
    ("bzip2", "-c", TEXT),
    ("grep", "-c", "the", TEXT),
    ("sed", "s/the/a/g", TEXT),
    ("awk", "{ n += NF } END { print n }", TEXT),
    ("wc", TEXT),
    ("md5sum", TEXT),
    ("od", "-x", TEXT),
    ("base64", TEXT),
    ("tr", "a-z", "A-Z"),
    ("seq", "20000"),
    ("factor", "1000000007000000049"),
    ("expr", "12345678901", "*", "98765432109"),
    ("fold", "-w", "20", TEXT),
    ("diff", TEXT, "/usr/share/common-licenses/GPL-2"),
    ("env", "PERL_HASH_SEED=0", "perl", "-e", "$x += $_ * $_ for 1 .. 20000; print $x"),
    ("tac", TEXT),
)


@pytest.mark.soak
@pytest.mark.parametrize("words", DETERMINISTIC, ids=[words[0] for words in DETERMINISTIC])
def test_programs_of_debian(words: tuple[str, ...]) -> None:
    """It counts the same instructions and branches in each of five runs."""
    one = count([BOTH, "--repeat=5"], "/bin/sh", "-c", f"{shlex.join(words)} || :")  # diff(1) ends with 1
    assert one.status == 0 and one.result["same"] == {"instructions": True, "branches": True}
