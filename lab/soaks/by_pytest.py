# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that take hours, and tests that are done so many times as in ./vlwp test."""

import argparse

from lab.commands import SOAKS
from lab.common.options import number, part as part_option
from lab.common.results import FOLDER
from lab.common.say import Usage
from lab.testing import kut
from lab.tests.pytest_part import PARTS, SOAK, UNPATCHED, add_options as add_pytest_options

TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="as --list has them, parts or patterns; default all")
    parser.add_argument("--list", action="store_true", help="name the tests with a line each, and run none")
    parser.add_argument("--resume", action="store_true", help="in parts: what has been right with this code counts")
    parser.add_argument("--scale", type=number(1, 10**6), metavar="N", help="so many times as much as in ./vlwp test")
    parser.add_argument("--part", type=part_option, metavar="I/N", help="suites: of the tests of each this part alone")
    add_pytest_options(parser)


def main(args: argparse.Namespace) -> int:
    soaks = {one.name: one.tests for one in SOAKS if one.tests}
    soak = soaks[args.name]
    part = {**PARTS, SOAK.name: SOAK, UNPATCHED.name: UNPATCHED}[soak.part]
    if args.k and soak.fits:
        raise Usage(f"soak {args.name}: -k is taken; names choose")
    words = ["-m", soak.marked, *(["-k", soak.fits] if soak.fits else []), f"--scale={args.scale or soak.scale}"]
    if args.resume and not soak.resumes:
        raise Usage(f"soak {args.name}: --resume is for {', '.join(name for name, it in soaks.items() if it.resumes)}")
    if args.resume:
        words.append(f"--results={FOLDER / args.name}")
    if args.part and not soak.parted:
        raise Usage(f"soak {args.name}: --part is for {', '.join(name for name, it in soaks.items() if it.parted)}")
    if args.part:
        words.append("--part={}/{}".format(*args.part))
    if part is SOAK and not soak.at_once:
        words.append("-n0")  # each takes the whole machine
    if args.name == "kvm-unit-tests":
        kut.tree()
    if not args.list:
        return part.soak(f"soak {args.name}", args.names, args, *words)
    for line in part.lines(args.names, "--list", *words, door=f"soak {args.name}"):
        print(line)
    return 0
