# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that take hours, and tests that are done so many times as in ./vlwp test."""

import argparse
from dataclasses import dataclass

from lab.common.options import number
from lab.common.results import FOLDER
from lab.common.say import Usage
from lab.testing import kut
from lab.tests.pytest_part import PARTS, SOAK, UNPATCHED, add_options as add_pytest_options

ALL = "soak or not soak"


@dataclass(frozen=True)
class Soak:
    """Tests of a part. fits: an expression for -k; marked: one for -m; scale: how many times as much as in the test."""

    fits: str = ""
    part: str = "kvm"
    marked: str = "soak"
    scale: int = 1
    resumes: bool = False  # each test keeps its result in lab/results
    at_once: bool = False  # tests of the part "soak" that do not take the whole machine


SOAKS = {
    "bases": Soak("test_bases.py", "soak"),
    "builds": Soak("test_builds.py", "soak"),
    "count": Soak("test_programs_of_debian", "linux"),
    "diff": Soak("test_diff and not late and not skid", marked=ALL, scale=40),
    "dkms": Soak("test_dkms.py", "soak"),
    "flat": Soak("test_row", "flat", ALL),
    "flat-kvm": Soak("conformance or test_flat and not test_flat_counted and not test_flat_skid", marked=ALL),
    "fuzz": Soak("test_fuzz", "unit", ALL, 6000),
    "here": Soak("test_here_whole"),
    "hostile": Soak("test_hostile", scale=10),
    "icount": Soak("test_counted or test_replayed", "flat"),
    "judged": Soak("test_judged.py", "linux", ALL),
    "kit": Soak("test_kit.py"),
    "kvm-debug": Soak("test_kvm_debug.py", "soak"),
    "kvm-linux": Soak("TestGuest or test_i386"),
    "kvm-unit-tests": Soak("test_kvm_unit_tests.py", "soak", at_once=True),
    "libvirt": Soak("test_libvirt.py", "soak"),
    "migrate": Soak("", "migrate", ALL, 10),
    "packages": Soak("test_packages.py", "soak"),
    "pgo": Soak("test_pgo.py", "linux"),
    "places": Soak("test_place", "flat"),
    "probe": Soak("test_planted"),
    "prove": Soak("", "prove", ALL, resumes=True),
    "qemu": Soak("test_qemu.py", "soak"),
    "rr": Soak("test_rr or test_ibs", "linux"),
    "same-twice": Soak("test_same_twice.py", "soak", resumes=True),
    "selftests": Soak("test_selftests.py", "soak"),
    "series": Soak("test_series.py", "soak"),
    "skid": Soak("skid and not late", scale=40),
    "states": Soak("test_states_across_kernels"),
    "unpatched": Soak("", "unpatched", "unpatched"),
}
TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="as --list has them, parts or patterns; default all")
    parser.add_argument("--list", action="store_true", help="name the tests with a line each, and run none")
    parser.add_argument("--resume", action="store_true", help="prove, same-twice: in parts; what is proved counts")
    parser.add_argument("--scale", type=number(1, 10**6), metavar="N", help="so many times as much as in ./vlwp test")
    add_pytest_options(parser)


def main(args: argparse.Namespace) -> int:
    soak = SOAKS[args.name]
    part = {**PARTS, SOAK.name: SOAK, UNPATCHED.name: UNPATCHED}[soak.part]
    if args.k and soak.fits:
        raise Usage(f"soak {args.name}: -k is taken; names choose")
    words = ["-m", soak.marked, *(["-k", soak.fits] if soak.fits else []), f"--scale={args.scale or soak.scale}"]
    if args.resume and not soak.resumes:
        raise Usage(f"soak {args.name}: --resume is for {', '.join(name for name, it in SOAKS.items() if it.resumes)}")
    if args.resume:
        words.append(f"--results={FOLDER / args.name}")
    if part is SOAK and not soak.at_once:
        words.append("-n0")  # each takes the whole machine
    if args.name == "kvm-unit-tests":
        kut.tree()
    if not args.list:
        return part.soak(f"soak {args.name}", args.names, args, *words)
    for line in part.lines(args.names, "--list", *words, door=f"soak {args.name}"):
        print(line)
    return 0
