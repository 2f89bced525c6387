# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs compute the same under lwprun as without: Java, node, LuaJIT, perl, python3, gcc, xz, and flags across
faults and signals, on 2 and 4 processors of an overloaded host. lab/results/ has the result of each run."""

import argparse
import itertools
import os
import random
import shutil
import threading
import time
from functools import partial
from pathlib import Path

from lab.building import deps, linux, qemu_tree, tools
from lab.common import bases, results
from lab.common.beside import side_by_side
from lab.common.options import SEED, number, seed
from lab.common.places import TOP
from lab.common.say import Died, Usage, say
from lab.guest.count1 import Count1
from lab.guest.vm import run_directory
from lab.nested import machine
from lab.testing import seeds
from lab.testing.moved import differs, moments_of, moved
from lab.testing.results import (
    GUEST_MEMORY, PROGRAMS, SIZES, Run, chunks, draw, guests_count, in_guest, known, missing,
)
from lab.testing.twice import LWP, frozen_of

RUNS = {"tcg": 1000, "kvm": 50, "migrate": 50}
EACH = 6  # runs for each processor of a guest; a boot takes as long as one or two of them
CODE = (
    *("vmcb", "kvm/engine", *(f"qemu-patches/patches/{name}" for name in qemu_tree.SERIES)),
    *("qemu-patches/count", "qemu-patches/lwp", "qemu-patches/pmu", "guest-tools", "guest-tests/linux/results"),
)
KVM_CODE = ("kvm/svm", "kvm/patches")
# In the nested lab a program takes 20 times as long, and with each branch due even longer.
PROGRAM_SETS = {
    "tcg": tuple(name for name in PROGRAMS if not name.endswith("-short")),
    "kvm": ("flags", "perl-short", "luajit-short", "xz-short", "sum-short"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--accel", choices=list(RUNS), default="tcg", help="who runs the guests (tcg)")
    default = f"{RUNS['tcg']}; with kvm {RUNS['kvm']}"
    parser.add_argument("--runs", type=number(1, 10**6), metavar="N", help=f"how many ({default})")
    parser.add_argument(
        "--guests", type=number(1, 1000), metavar="N", help="at once (so many that a processor has six vCPUs)"
    )
    parser.add_argument("--seed", type=seed, metavar="N", help="of the first run (drawn); the next has the next")
    parser.add_argument(
        "--migrate", action="store_true", help=f"on count-1, which is moved to other QEMUs ({RUNS['migrate']} runs)"
    )
    parser.add_argument("--resume", action="store_true", help="results that stand with this code count")
    parser.add_argument("--programs", metavar="NAME,...", help=f"of {','.join(PROGRAMS)} (with tcg all but -short)")
    machine.without_options(parser, smp=2, memory=GUEST_MEMORY)
    parser.set_defaults(machine=None, root=None, capsule=None, env=[])


def _programs(args: argparse.Namespace) -> list[str]:
    default = ",".join(PROGRAM_SETS[args.accel])
    names: list[str] = (args.programs or default).split(",")
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        raise Usage(f"soak results: no program '{unknown[0]}'; there are: {', '.join(PROGRAMS)}")
    lacking = missing(names)
    if lacking:
        raise Died(f"these programs are not on this machine: {' '.join(lacking)}: ./vlwp deps installs them")
    return names


def _code(accel: str, *more: str) -> str:
    """What the results are of."""
    own = [folder for folder in (qemu_tree.own(), linux.own() if accel == "kvm" else None) if folder]
    folders = [*CODE, *more, *(KVM_CODE if accel == "kvm" else ()), *(str(folder.relative_to(TOP)) for folder in own)]
    return results.code_of(folders, f"{accel} {bases.of_linux('')} {bases.of_qemu('')}")


def _todo(args: argparse.Namespace, names: list[str], done: results.Results) -> list[Run]:
    first = seeds.draw() if args.seed is None else args.seed
    say(f"the first run has the seed {first}")
    following = (at % (SEED + 1) for at in itertools.count(first))
    fresh = (at for at in following if at not in done.lines)
    wanted = max(0, (args.runs or RUNS[args.accel]) - len(done.lines))
    return [draw(at, names, args.accel) for at in itertools.islice(fresh, wanted)]


class Moved:
    """Programs on count-1: the records and the output of one that is moved are those of one that is not."""

    def __init__(self, work: Path):
        self.work = work
        self.known: dict[str, tuple[Count1, dict[str, bytes], float]] = {}

    def run(self, name: str, at: int) -> tuple[str, int]:
        """What differs, in a run with this seed, and how often it was moved."""
        words = [word.format(work=self.work) for word in PROGRAMS[name]]
        if name not in self.known:
            one, begun = frozen_of(self.work / name, LWP, words), time.monotonic()
            first, _ = moved(one, self.work / f"{name}-first", [*LWP, *words], [])
            self.known[name] = one, first, time.monotonic() - begun
        one, first, seconds = self.known[name]
        place = self.work / str(at)
        got, moves = moved(one, place, [*LWP, *words], moments_of(random.Random(at), seconds))
        shutil.rmtree(place)
        return differs(first, got), moves


def _migrate(args: argparse.Namespace, names: list[str]) -> None:
    with run_directory("vlwp-results") as work:
        known(names, work)
        programs, draw = Moved(work), seeds.draw() if args.seed is None else args.seed
        done = results.Results(results.FOLDER / "results-migrate", _code("tcg", "lab/guest"), args.resume)
        while len(done.lines) < (args.runs or RUNS["migrate"]):
            name = random.Random(draw).choice(names)
            how, moves = programs.run(name, draw) if draw not in done.lines else ("", 0)
            if moves or how:
                done.add(draw, not how, f"{name}, moved {moves} times{': ' if how else ''}{how}")
                print(f"{len(done.lines)}: {draw} {name}, moved {moves} times: {how or 'right'}", flush=True)
            draw = (draw + 1) % (SEED + 1)
    _end(done)


def _end(done: results.Results) -> None:
    wrong = done.wrong()
    if wrong:
        raise Died(f"{len(wrong)} of {len(done.lines)} runs are wrong; they are in {done.path}")
    print(f"{len(done.lines)} runs, 0 wrong")


def main(args: argparse.Namespace) -> None:
    names = _programs(args)
    if args.migrate and args.accel != "tcg":
        raise Usage("soak results: --migrate is for TCG")
    if os.environ.get("VLWP_QEMU"):
        raise Usage("soak results: its results are those of the QEMU that is built here: unset VLWP_QEMU")
    guests = {}
    for smp in SIZES:
        args.smp = smp
        guests[smp] = machine.from_options(args)
    deps.ensure()
    machine.prepare(guests[SIZES[0]])
    tools.build()
    if args.migrate:
        _migrate(args, names)
        return
    lock = threading.Lock()
    with run_directory("vlwp-results") as work:
        wanted = known(names, work)
        done = results.Results(results.FOLDER / f"results-{args.accel}", _code(args.accel), args.resume)
        todo = _todo(args, names, done)

        def tell(run: Run, how: str) -> None:
            with lock:
                done.add(run.seed, not how, f"{run}{': ' if how else ''}{how}")
                print(f"{len(done.lines)}: {run.seed} {run}: {how or 'right'}", flush=True)

        count = args.guests or (guests_count() if args.accel == "tcg" else 1)
        parts = chunks(todo, EACH)
        side_by_side([partial(in_guest, guests[p[0].smp], p, work, wanted, tell) for p in parts], count)
    _end(done)
