# SPDX-License-Identifier: GPL-2.0-or-later
"""Run what must pass before a release, one after the other: the whole test and all soaks. It takes days; a result
counts for the commit that it is of, and stands in lab/results/release."""

import argparse
import time

from lab.commands import SOAKS
from lab.common import proc
from lab.common.places import BUILD, TOP
from lab.common.results import FOLDER, Results
from lab.common.say import Died, duration, say
from lab.common.steps import make_dir

FIRST = ("test", "soak fresh bookworm", "soak fresh trixie")
RESUMED = ("results", "prove", "pgo")  # soaks that are done in parts
MORE = ("soak results --resume --accel=kvm",)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="print the list, and run nothing")
    parser.add_argument("--resume", action="store_true", help="what has passed on this commit is not run again")


def commands() -> list[str]:
    """The list."""
    soaks = [f"soak {soak.name}{' --resume' if soak.name in RESUMED else ''}" for soak in SOAKS if soak.name != "fresh"]
    return [*FIRST, *soaks, *MORE]


def main(args: argparse.Namespace) -> None:
    if args.list:
        print("\n".join(f"./vlwp {line}" for line in commands()))
        return
    make_dir(BUILD)
    git = ["git", "-C", str(TOP)]
    if proc.output([*git, "status", "--porcelain", "--", ":!lab/results"]):
        raise Died("release: what is not committed is not released: commit it, or remove it")
    done = Results(FOLDER / "release", proc.output([*git, "rev-parse", "HEAD"])[:12], args.resume)
    for number, line in enumerate(commands(), 1):
        if " right " in done.lines.get(number, ""):
            continue
        begin = time.monotonic()
        status = proc.call([TOP / "vlwp", *line.split()])
        done.add(number, status == 0, f"{line} ({duration(time.monotonic() - begin)})")
        say(f"release: {line}: {'passed' if status == 0 else f'status {status}'}")
    if wrong := done.wrong():
        raise Died(f"release: {len(wrong)} of {len(done.lines)} have failed; they are in {done.path}")
    say(f"release: all {len(done.lines)} have passed")
