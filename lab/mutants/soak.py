# SPDX-License-Identifier: GPL-2.0-or-later
"""What the four soaks of mutants share: options, the choice of mutants, the run, copies."""

import argparse
import filecmp
import random
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lab.common.c_source import Source, Tree
from lab.common.options import number
from lab.common.places import TOP
from lab.common.say import Died, Usage, say
from lab.mutants.engine import Builder, Verdict, outcomes, sums
from lab.mutants.listed import Mutant, MutantError, MutantList, chosen

COMPILER_ERROR = re.compile(r"^.*\berror:.*$", re.MULTILINE)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of all soaks of mutants."""
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="only mutants whose place or tests contain TEXT")
    parser.add_argument("--list", action="store_true", help="show the mutants and try none")
    parser.add_argument("--share", type=number(1, 1000), metavar="N", default=1, help="try a random Nth of the mutants")
    parser.add_argument("--seed", type=int, help="the seed that the choice begins with")


def select(args: argparse.Namespace, mutants: MutantList) -> list[Mutant]:
    """The mutants that the user asks for."""
    try:
        fitting = chosen(mutants.mutants(TOP), args.texts)
    except MutantError as err:
        raise Died(str(err)) from err
    if not fitting:
        raise Usage(f"{mutants}: no mutant matches {' '.join(args.texts)}")
    if args.share == 1:
        return fitting
    seed = random.randrange(1 << 32) if args.seed is None else args.seed
    say(f"--share {args.share} --seed {seed} chooses the same mutants again")
    return share(fitting, args.share, seed)


def share(mutants: Sequence[Mutant], divisor: int, seed: int) -> list[Mutant]:
    """A random part of the mutants, at least one, in the order of the list."""
    count = -(-len(mutants) // divisor)
    picked = random.Random(seed).sample(range(len(mutants)), count)
    return [mutants[at] for at in sorted(picked)]


def show(mutants: Sequence[Mutant]) -> int:
    """What --list prints."""
    for mutant in mutants:
        print(f"{mutant} [{', '.join(map(str, mutant.tests))}]")
    return 0


def run(mutants: Sequence[Mutant], listed: MutantList, builder: Builder, upstream: Sequence[Source] = ()) -> int:
    """Try the mutants and print the verdicts. UPSTREAM: patched files of upstream, as the copy has them. Result: the
    exit status."""
    counted: Counter[Verdict] = Counter()
    tree = Tree(TOP, listed.folders)
    tree.sources += upstream
    for outcome in outcomes(mutants, tree, builder):
        print(outcome, flush=True)
        counted[outcome.verdict] += 1
    print(sums(counted), flush=True)
    if counted[Verdict.SURVIVED] or counted[Verdict.BROKEN]:
        raise Died(f"write the test that is missing, or correct {listed}")
    return 0


def first_error(log: Path) -> str:
    """The first error of a compiler in a log, else its last line."""
    text = log.read_text(encoding="utf-8", errors="replace")
    match = COMPILER_ERROR.search(text)
    return match[0].strip() if match else (text.splitlines() or ["no output"])[-1]


def mirror(folder: Path, copy: Path) -> None:
    """Make a copy of a folder. Files that are the same keep their time stamp; files that are not in
    the folder are removed."""
    wanted = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    for path in copy.rglob("*"):
        if path.is_file() and path.relative_to(copy) not in wanted:
            path.unlink()
    for name in wanted:
        refresh(folder / name, copy / name)


def refresh(file: Path, copy: Path) -> None:
    """Make a copy of a file, with a time stamp of now if it differs."""
    if copy.is_file() and filecmp.cmp(file, copy, shallow=False):
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, copy)


def programs(mutants: Sequence[Mutant]) -> list[str]:
    """The test programs that the mutants name."""
    return sorted({test.program for mutant in mutants for test in mutant.tests})


def names(mutants: Sequence[Mutant], program: str) -> list[str]:
    """The tests of a program that the mutants name."""
    tests = {test for mutant in mutants for test in mutant.tests}
    return sorted(test.name for test in tests if test.program == program and test.name)
