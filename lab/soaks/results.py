# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs compute the same under lwprun as without: Java, node, LuaJIT, perl, python3, gcc, xz, and flags across
faults and signals, on 2 and 4 processors of an overloaded host. lab/results/ has the result of each run."""

import argparse
import itertools
import os
import threading
from functools import partial

from lab.building import deps, linux, qemu_tree, tools
from lab.common import bases, results
from lab.common.beside import side_by_side
from lab.common.options import SEED, number, seed
from lab.common.places import TOP
from lab.common.say import Died, Usage, say
from lab.guest.vm import run_directory
from lab.nested import machine
from lab.testing import seeds
from lab.testing.results import (
    GUEST_MEMORY, PROGRAMS, SIZES, Run, chunks, draw, guests_count, in_guest, known, missing,
)

RUNS = {"tcg": 1000, "kvm": 50}
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
    """What it takes."""
    parser.add_argument("--accel", choices=list(RUNS), default="tcg", help="who runs the guests (tcg)")
    default = f"{RUNS['tcg']}; with kvm {RUNS['kvm']}"
    parser.add_argument("--runs", type=number(1, 10**6), metavar="N", help=f"how many ({default})")
    parser.add_argument(
        "--guests", type=number(1, 1000), metavar="N", help="at once (so many that a processor has six vCPUs)"
    )
    parser.add_argument("--seed", type=seed, metavar="N", help="of the first run (drawn); the next has the next")
    parser.add_argument("--resume", action="store_true", help="results that stand with this code count")
    parser.add_argument("--programs", metavar="NAME,...", help=f"of {','.join(PROGRAMS)} (with tcg all but -short)")
    parser.set_defaults(smp=2, memory=GUEST_MEMORY, cpu="", stats=None, kvm_amd="")
    parser.set_defaults(machine=None, root=None, capsule=None)


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


def _code(accel: str) -> str:
    """What the results are of."""
    own = [folder for folder in (qemu_tree.own(), linux.own() if accel == "kvm" else None) if folder]
    folders = [*CODE, *(KVM_CODE if accel == "kvm" else ()), *(str(folder.relative_to(TOP)) for folder in own)]
    return results.code_of(folders, f"{accel} {bases.of_linux('')} {bases.of_qemu('')}")


def _todo(args: argparse.Namespace, names: list[str], done: results.Results) -> list[Run]:
    first = seeds.draw() if args.seed is None else args.seed
    say(f"the first run has the seed {first}")
    following = (at % (SEED + 1) for at in itertools.count(first))
    fresh = (at for at in following if at not in done.lines)
    wanted = max(0, (args.runs or RUNS[args.accel]) - len(done.lines))
    return [draw(at, names, args.accel) for at in itertools.islice(fresh, wanted)]


def main(args: argparse.Namespace) -> None:
    """The command."""
    names = _programs(args)
    if os.environ.get("VLWP_QEMU"):
        raise Usage("soak results: its results are those of the QEMU that is built here: unset VLWP_QEMU")
    guests = {}
    for smp in SIZES:
        args.smp = smp
        guests[smp] = machine.from_options(args)
    deps.ensure()
    machine.prepare(guests[SIZES[0]])
    tools.build()
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
    wrong = done.wrong()
    if wrong:
        raise Died(f"{len(wrong)} of {len(done.lines)} runs are wrong; they are in {done.path}")
    print(f"{len(done.lines)} runs, 0 wrong")
