# SPDX-License-Identifier: GPL-2.0-or-later
"""What the four soaks of faults share: options, the choice of faults, the run, copies."""

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
from lab.mutants.faults import Fault, FaultError, FaultList, chosen

COMPILER_ERROR = re.compile(r"^.*\berror:.*$", re.MULTILINE)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of all soaks of faults."""
    parser.add_argument(
        "texts", nargs="*", metavar="TEXT", help="only faults whose place or tests contain TEXT"
    )
    parser.add_argument("--list", action="store_true", help="show the faults and try none")
    parser.add_argument(
        "--share", type=number(1, 1000), metavar="N", default=1, help="try a random Nth of the faults"
    )
    parser.add_argument("--seed", type=int, help="the seed that the choice begins with")


def select(args: argparse.Namespace, faults: FaultList) -> list[Fault]:
    """The faults that the user asks for."""
    try:
        fitting = chosen(faults.faults(TOP), args.texts)
    except FaultError as err:
        raise Died(str(err)) from err
    if not fitting:
        raise Usage(f"{faults}: no fault matches {' '.join(args.texts)}")
    if args.share == 1:
        return fitting
    seed = random.randrange(1 << 32) if args.seed is None else args.seed
    say(f"--share {args.share} --seed {seed} chooses the same faults again")
    return share(fitting, args.share, seed)


def share(faults: Sequence[Fault], divisor: int, seed: int) -> list[Fault]:
    """A random part of the faults, at least one, in the order of the list."""
    count = -(-len(faults) // divisor)
    picked = random.Random(seed).sample(range(len(faults)), count)
    return [faults[at] for at in sorted(picked)]


def show(faults: Sequence[Fault]) -> int:
    """What --list prints."""
    for fault in faults:
        print(f"{fault} [{', '.join(map(str, fault.tests))}]")
    return 0


def run(faults: Sequence[Fault], listed: FaultList, builder: Builder, upstream: Sequence[Source] = ()) -> int:
    """Try the faults and print the verdicts. UPSTREAM: patched files of upstream, as the copy has them. Result: the
    exit status."""
    counted: Counter[Verdict] = Counter()
    tree = Tree(TOP, listed.folders)
    tree.sources += upstream
    for outcome in outcomes(faults, tree, builder):
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


def programs(faults: Sequence[Fault]) -> list[str]:
    """The test programs that the faults name."""
    return sorted({test.program for fault in faults for test in fault.tests})


def names(faults: Sequence[Fault], program: str) -> list[str]:
    """The tests of a program that the faults name."""
    tests = {test for fault in faults for test in fault.tests}
    return sorted(test.name for test in tests if test.program == program and test.name)
