# SPDX-License-Identifier: GPL-2.0-or-later
"""The kill matrix: for each mutant of a list all tests of its area, not only those that it names. What no mutant kills
proves nothing that is known; what is never alone red is proven elsewhere, too. Each mutant is a line of
lab/results/kills-AREA; --resume continues. The conformance suite is judged so, too: with each mutant of the engine
whose unit tests cite only what is certain, and what a row proves, a row of it must fail, by what is certain."""

import argparse
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.building import meson, tools
from lab.checks import citations, coverage
from lab.common import proc
from lab.common.c_source import Tree
from lab.common.options import number
from lab.common.places import BUILD, TOP
from lab.common.results import FOLDER, Results, code_of
from lab.common.say import Died, say
from lab.common.steps import build_lock, hash_of, make_dir
from lab.mutants import parts, patched, soak
from lab.mutants.listed import QEMU, UNIT, Mutant, MutantList, Test, applied
from lab.mutants.qemu import Qemu
from lab.mutants.relinked import Relinked
from lab.mutants.unit import Unit
from lab.testing import seeds
from lab.testing.suite import ROWS, flatrun

TAP = re.compile(r"^(not ok|ok) - (\S+)", re.MULTILINE)
LEFT_OUT = re.compile("_objdump$|_maps$")  # they compare with objdump for minutes
ROW = re.compile(r"^(FAIL|ERROR|pass) +(\w+)", re.MULTILINE)
JUDGED = re.compile(r"^not ok \d+ - (\w+)", re.MULTILINE)
ENGINE = MutantList("engine", ("kvm/engine",), UNIT.folders)
PLACES = [f"guest-tests/flat/{part}" for part in ("kernel", "runner", "tests")]  # of the suite


class UnitMatrix(Unit):
    """All programs of vmcb and kvm/engine. One that is not Criterion's is one test."""

    def __init__(self, work: Path):
        super().__init__(work)
        sources = [path for folder in UNIT.folders for path in sorted((TOP / folder / "tests").glob("test_*.c"))]
        names = [str(path.relative_to(TOP).with_suffix("")) for path in sources]
        self.programs = [name for name in names if not LEFT_OUT.search(name)]
        self.known: set[str] = set()

    def all_tests(self) -> set[str]:
        """Each program once."""
        red: set[str] = set()
        for program in self.programs:
            with self.test_log.open("w+", encoding="utf-8", errors="replace") as log:
                status = proc.logged(self._command(program, "--tap"), log)
                log.seek(0)
                told_of = TAP.findall(log.read())
            failed = {name for how, name in told_of if how == "not ok"}
            self.known |= {name for _, name in told_of}
            red |= failed or ({Path(program).name} if status else set())
        return red


class FlatMatrix(Qemu):
    """All flat rows under TCG."""

    known = {row.name for row in ROWS if row.offered("tcg")}

    def all_tests(self) -> set[str]:
        """In one run."""
        with self.test_log.open("w+", encoding="utf-8", errors="replace") as log:
            proc.logged(flatrun("--qemu", self.out / "qemu-system-x86_64"), log)
            log.seek(0)
            ended = {name: how for how, name in ROW.findall(log.read())}
        return {name for name in self.known if ended.get(name) != "pass"}


class SuiteMatrix(Relinked):
    """The rows of the conformance suite, on the first processor on which some fail."""

    known = {row.name for row in ROWS if not row.lab}

    def all_tests(self) -> set[str]:
        """Until a processor fails."""
        failed = parts.red(Test("check", "conformance_certain"), self.test_log, "VLWP_QEMU", self.emulator)
        rows = self.known & set(JUDGED.findall(self.test_log.read_text(encoding="utf-8", errors="replace")))
        if failed and not rows:
            raise Died(f"the suite ends without a row that fails (see {self.test_log})")
        return rows


Matrix = UnitMatrix | FlatMatrix | SuiteMatrix
AREAS: dict[str, tuple[MutantList, Callable[[Path], Matrix], str]] = {
    "unit": (UNIT, UnitMatrix, "mutants"), "flat": (QEMU, FlatMatrix, "mutants-qemu"),
    "conformance": (ENGINE, SuiteMatrix, "kills-conformance"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("area", nargs="?", choices=list(AREAS), default="unit", help="whose tests (unit)")
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="only mutants whose place or tests contain TEXT")
    parser.add_argument("--runs", type=number(1, 10**6), metavar="N", help="so many mutants, drawn, and no more")
    parser.add_argument("--resume", action="store_true", help="mutants that were tried on this code count")
    parser.add_argument("--seed", type=int, metavar="N", help="of what --runs draws")
    parser.set_defaults(share=1)


def _number(mutant: Mutant) -> int:
    return zlib.crc32(f"{mutant}".encode()) % 10**9


def certain(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Those that break what every implementation obeys: a unit test that notices cites nothing else."""
    sure = coverage.certain_tests(citations.Tree(TOP))
    return [one for one in mutants if any(test.name in sure for test in one.tests)]


def _programs(builder: Matrix) -> list[Test]:
    return [Test(program, "") for program in getattr(builder, "programs", [])]


def _try(builder: Matrix, tree: Tree, mutant: Mutant) -> set[str]:
    """What is red with a mutant."""
    source, text = applied(mutant, tree)
    file = builder.place(source.path)
    try:
        file.write_text(text, encoding="utf-8")
        return {"does-not-compile"} if builder.build(_programs(builder)) else builder.all_tests()
    finally:
        file.write_text(source.text, encoding="utf-8")


def main(args: argparse.Namespace) -> None:
    listed, make, lock = AREAS[args.area]
    mutants, suite = soak.select(args, listed), args.area == "conformance"
    if suite:
        mutants = certain(mutants)
    seed = seeds.draw() if args.seed is None else args.seed
    say(f"{len(mutants)} mutants; --seed={seed} draws the same ones again")
    tools.build()
    with build_lock(lock):
        meson.fetch()
        make_dir(BUILD / lock)
        builder = make(BUILD / lock)
        builder.prepare(mutants)
        tree = Tree(TOP, listed.folders)
        if isinstance(builder, FlatMatrix):
            tree.sources += patched.sources(builder.tree, sorted({mutant.file for mutant in mutants}))
        builder.build(_programs(builder))
        if always := builder.all_tests():
            say(f"red without a mutant, and left out: {' '.join(sorted(always))}")
        folders = [*listed.folders, *(["guest-tests/flat"] if args.area != "unit" else [])]
        code = code_of(listed.folders, hash_of(*PLACES)) if suite else hash_of(*folders)[:12]
        done = Results(FOLDER / f"kills-{args.area}", code, args.resume)
        left = [mutant for mutant in mutants if _number(mutant) not in done.lines]
        for mutant in random.Random(seed).sample(left, min(args.runs or len(left), len(left))):
            red = _try(builder, tree, mutant) - always
            named = {test.name or Path(test.program).name for test in mutant.tests if test.program != "check"}
            right = bool(red & builder.known) if suite else named <= red
            done.add(_number(mutant), right, f"{mutant.place} red: {' '.join(sorted(red))}".rstrip())
            print(f"{mutant}: {len(red)} red", flush=True)
    for line in told(list(done.lines.values()), builder.known):
        print(line)
    if suite and done.wrong():
        raise Died(f"mutants pass the suite, which lacks a point that is certain; they are in {done.path}")


def told(lines: list[str], known: set[str]) -> list[str]:
    """What the matrix says: which tests were never red, and which never alone."""
    reds = [line.partition(" red:")[2].split() for line in lines]
    every, alone = Counter(name for red in reds for name in red), {red[0] for red in reds if len(red) == 1}
    never = sorted(set(every) - alone)
    return [
        f"{len(lines)} mutants; {len(every)} tests were red, {len(alone)} of them alone at least once; "
        f"{sum(not red for red in reds)} mutants were seen by none",
        f"never red: {' '.join(sorted(known - set(every)))}",
        f"never alone: {' '.join(never)}",
    ]
