# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on count-1: a reference run and five others each, under unlike load, for unlike callers; in a guest of an
emulated host; in other translated blocks; with the QEMU of each base."""

import os
import resource
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from lab.building import qemu_tree
from lab.common import proc, results
from lab.soaks.results import CODE
from lab.testing.results import SOURCES
from lab.testing.twice import LWP, PERF, POINTS, differing, frozen_of, seen, watched
from lab.tests.conftest import good
from lab.tests.linux.test_rr import SQL, THREADS
from lab.tests.linux.tools import VLWP
from lab.tests.plugin import Points, Tell
from lab.tests.soak.test_bases import QEMUS, emulator

pytestmark = pytest.mark.soak
GO = 'package main; import "fmt"; func main() { c := make(chan int); for i := 0; i < 9; i++ { ' \
    'go func() { c <- i }() }; s := 0; for i := 0; i < 9; i++ { s += <-c }; fmt.Println(s) }'
MAKE = "mkdir m; cd m; for n in a b c d e f; do echo 'int '$n'(int n) { return n; }' >$n.c; done; " \
    "printf 'all: a.o b.o c.o d.o e.o f.o\\n' >Makefile; make -j4"
PROGRAMS: dict[str, tuple[str, str]] = {  # the program that must be there, and a script in /tmp
    "perl": ("perl", "perl -e '$h{$_ % 97} .= $_ for 1 .. 40000; print keys %h, time, rand 1'"),
    "python3": ("python3", "/usr/bin/python3 -S -c 'import time; print(hash(\"x\"), time.time())'"),
    "threads": ("python3", f"/usr/bin/python3 -S -c '{THREADS}'"),
    "children": ("bash", "for n in 1 2 3 4 5; do bash -c 'sleep 0.0$$; echo $$ $RANDOM' & done; wait"),
    "java": ("java", "java -XX:-UsePerfData -version"),
    "go": ("go", f"echo '{GO}' >m.go; GOCACHE=/tmp/c go run m.go"),
    "node": ("node", f"node {SOURCES}/jit.js"),
    "make": ("make", MAKE),
    "gcc": ("gcc", f"gcc -O1 -S -o - {SOURCES}/flags.c"),
    "sqlite3": ("python3", f'/usr/bin/python3 -S -c "{SQL}; d.close()"'),
    "xz": ("xz", "xz -1c /bin/sed | xz -dc | sha256sum"),
    "gzip": ("gzip", "gzip -9c /bin/sed | sha256sum"),
    "luajit": ("luajit", f"luajit {SOURCES}/jit.lua"),
    "sort": ("sort", "sort -R --random-source=/bin/sed /etc/services"),
    "awk": ("awk", "awk 'BEGIN { for (n = 0; n < 50000; n++) s += n; print s, rand() }'"),
    "sed": ("sed", "sed -n '1~9p' /etc/services"),
    "bc": ("bc", "echo 'scale=200; 4*a(1)' | bc -l"),
    "trap": ("sh", "trap 'echo caught' USR1; kill -USR1 $$; echo done"),
    "find": ("find", "find /usr/share/common-licenses | sort"),
    "shuf": ("shuf", "shuf -i 1-2000 | md5sum; cat /proc/sys/kernel/random/uuid; date +%N"),
}
RUNS = 5
NESTED = ("perl", "children", "xz", "shuf")
JUDGED = ("perl", "children", "threads", "trap", "shuf")
JUDGES = (",one-insn-per-tb=on", ",tb-size=8")
NOBODY = 65534


def words(name: str) -> tuple[str, ...]:
    """Its command line."""
    lacking = [program for program in (PROGRAMS[name][0], "perf") if not shutil.which(program)]
    if lacking:
        pytest.skip(f"{lacking[0]} is not installed")
    return ("sh", "-c", f"cd /tmp; {PROGRAMS[name][1]}")


@contextmanager
def loaded(number: int) -> Iterator[None]:
    """So many busy programs beside it, which give way now and then, and one processor for all if the number is odd."""
    own = os.sched_getaffinity(0)
    busy = [proc.start(proc.with_us(["nice", "sh", "-c", "while :; do :; done"])) for _ in range(number)]
    if number % 2:
        os.sched_setaffinity(0, {min(own)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)
        for child in busy:
            proc.end(child)


class Kept:
    """Results that stand, and points for pytest."""

    def __init__(self, path: Path | None, points: Points, also: str = "same-twice"):
        own = qemu_tree.own()
        folders = [*CODE, "lab/guest", *([str(own)] if own else [])]
        self.results = results.Results(path, results.code_of(folders, also), True) if path else None
        self.points = points

    def line(self, what: str) -> str:
        """What is kept of it with this code; empty: nothing."""
        return self.results.lines.get(self._key(what), "") if self.results else ""

    def stands(self, what: str) -> str:
        """The line that says that it has been right with this code; empty: none does."""
        line = self.line(what)
        right = line.split()[2:3] == ["right"]
        self.points(int(right), 0, 0)
        return line if right else ""

    def add(self, what: str, how: str, figures: str = "") -> None:
        """A run has ended; how it was not right, and what else is kept of it."""
        if self.results:
            self.results.add(self._key(what), not how, ": ".join(filter(None, [what, figures, how])))
        self.points(int(not how), int(bool(how)), 0)
        print(f"{what}: {how or 'right'}")

    @staticmethod
    def _key(what: str) -> int:
        return zlib.crc32(what.encode()) % 10**9


@pytest.fixture
def kept(pytestconfig: pytest.Config, points: Points) -> Kept:
    """The results of --resume."""
    return Kept(pytestconfig.getoption("--results"), points)


WRAPPER = (*PERF, *LWP)


@pytest.mark.parametrize("name", PROGRAMS)
def test_same(name: str, tmp_path: Path, kept: Kept, tell: Tell) -> None:
    """LWP's records, samples of counters with last branches, counts and output of five runs that a debugger stops are
    those of a reference run; memory is the same in the five, at 20 points."""
    program = words(name)
    todo = [what for what in (f"{name} {number}" for number in range(RUNS)) if not kept.stands(what)]
    if not todo:
        return
    one = frozen_of(tmp_path / "note", WRAPPER, program)
    reference = seen(one, tmp_path / "reference", WRAPPER, program)
    memory: dict[str, str] = {}
    for number, what in enumerate(todo):
        caller = {"env": {"HOME": f"/{number}", "N": "x" * 99 * number}, "cwd": "/usr" if number % 2 else tmp_path}
        if os.geteuid() == 0 and number == 2:
            for folder in (tmp_path, *list(tmp_path.parents)[:2]):
                folder.chmod(0o711)
            caller |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        with loaded(number):
            got = watched(one, tmp_path / f"run{number}", WRAPPER, program, **caller)
        points = {key: got.pop(key) for key in list(got) if key.startswith("memory")}
        assert len(points) >= POINTS
        memory = memory or points
        both = memory.keys() & points.keys()  # a guest runs on until QEMU is ended
        kept.add(what, differing(reference, got) or " ".join(key for key in both if memory[key] != points[key]))
        shutil.rmtree(tmp_path / f"run{number}", ignore_errors=True)
    tell(f"{name}: {len(memory)} hashes of memory")


@pytest.mark.parametrize("how", JUDGES)
@pytest.mark.parametrize("name", JUDGED)
def test_judged(name: str, how: str, tmp_path: Path, kept: Kept) -> None:
    """Records, interrupts and counts do not depend on how code is translated."""
    if not kept.stands(f"{name} {how[1:]}"):
        program = words(name)
        one = frozen_of(tmp_path / "note", WRAPPER, program)
        both = [seen(each, tmp_path / str(at), WRAPPER, program)
                for at, each in enumerate((one, replace(one, translator=how)))]
        kept.add(f"{name} {how[1:]}", differing(*both))


@pytest.mark.parametrize("name", PROGRAMS)
def test_based(name: str, tmp_path: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """The QEMU of each base leaves the same records, samples, counts and output."""
    if not kept.stands(f"{name} based"):
        program = words(name)
        one, found = frozen_of(tmp_path / "note", WRAPPER, program), []
        for series in QEMUS:
            monkeypatch.setenv("VLWP_QEMU", str(emulator(series)))
            found.append(seen(one, tmp_path / series, WRAPPER, program))
        kept.add(f"{name} based", " ".join(differing(found[0], other) for other in found[1:]))


@pytest.mark.parametrize("name", NESTED)
def test_nested(name: str, tmp_path: Path, kept: Kept) -> None:
    """An emulated host gives the same records as this one."""
    if not kept.stands(f"{name} nested"):
        file, script = tmp_path / "capsule", 'r=$(mktemp -d); "$0" run --capsule="$1" --data=$r/d >&2; sha256sum <$r/d'
        good([VLWP, "freeze", "-o", file, "--", *words(name)])
        inner: list[str | Path] = ["sh", "-c", script, VLWP, file]
        hosts: list[list[str | Path]] = [inner, [VLWP, "shell", "--memory=6144", "--", *inner]]
        lines = [good(host).split()[-2] for host in hosts]
        kept.add(f"{name} nested", "" if lines[0] == lines[1] else "lwp.data")


def test_cost(tmp_path: Path, tell: Tell) -> None:
    """A profile does not change what the program does; its CPU time is told beside that of the run without LWP."""
    program = words("perl")
    one = frozen_of(tmp_path / "note", LWP, program)
    times: list[float] = []
    for wrapper in (LWP, ()):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert seen(one, tmp_path / str(len(times)), wrapper, program)["status"] == "0"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    tell(f"{times[0]:.1f} s of CPU time, without LWP {times[1]:.1f} s: {times[0] / times[1]:.2f}")
