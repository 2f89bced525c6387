# SPDX-License-Identifier: GPL-2.0-or-later
"""Put each mutant of qemu-patches/mutants.list into a copy of QEMU; the tests that it names must fail: runs of the flat
kernel (`flat`), checks of `./vlwp test flat` (`check`), tests of `./vlwp test linux` and `migrate`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lab.building import qemu, qemu_tree, tools
from lab.common import proc
from lab.common.places import BUILD, SRC
from lab.common.say import Died
from lab.common.steps import build_lock, jobs_count, make_dir
from lab.mutants import parts, patched, soak
from lab.mutants.listed import QEMU, Mutant, Test
from lab.testing.suite import flatrun, only

FLAVOUR = "mutants"
PREFIX = "qemu-patches/"
SHARED = ("vmcb/", "kvm/engine/")

add_options = soak.add_options


class Qemu:
    """A copy of the patched QEMU."""

    def __init__(self, work: Path):
        self.tree, self.out = SRC / f"qemu-{FLAVOUR}", qemu.out_dir(FLAVOUR)
        self.build_log, self.test_log = work / "build.log", work / "test.log"

    def prepare(self, mutants: Sequence[Mutant]) -> None:
        """Make copy and build, and see that every run that the mutants name exists and passes."""
        # An interrupted run leaves a mutant there.
        (BUILD / f"stamp/qemu-{FLAVOUR}").unlink(missing_ok=True)
        qemu.build(FLAVOUR)
        for program in soak.programs(mutants):
            for name in soak.names(mutants, program):
                if self.red(Test(program, name)):
                    raise Died(f"{name} fails without any mutant (see {self.test_log})")

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""
        if file.startswith(PREFIX):
            folder, _, name = file.removeprefix(PREFIX).partition("/")
            return self.tree / qemu_tree.NEW[folder] / name
        if file.startswith(SHARED):
            return self.tree / qemu_tree.LIBRARY / Path(file).name
        return self.tree / file

    def build(self, tests: Sequence[Test]) -> str:
        """Build QEMU. Result: the first error, "" if there is none."""
        target = ["-j", str(jobs_count()), "qemu-system-x86_64"]
        with self.build_log.open("w", encoding="utf-8") as log:
            failed = proc.logged(["ninja", "-C", self.out, *target], log)
        return soak.first_error(self.build_log) if failed else ""

    def red(self, test: Test) -> bool:
        """Run a test. Does it fail?"""
        if test.program in parts.PARTS:
            return parts.red(test, self.test_log, "VLWP_QEMU", self.out / "qemu-system-x86_64")
        command = flatrun("--qemu", self.out / "qemu-system-x86_64", *only([test.name]))
        with self.test_log.open("w", encoding="utf-8") as log:
            return proc.logged(command, log) != 0


def main(args: argparse.Namespace) -> int:
    mutants = soak.select(args, QEMU)
    if args.list:
        return soak.show(mutants)
    tools.build()
    with build_lock("mutants-qemu"):
        work = BUILD / "mutants-qemu"
        make_dir(work)
        builder = Qemu(work)
        builder.prepare(mutants)
        upstream = sorted({mutant.file for mutant in mutants})
        return soak.run(mutants, QEMU, builder, patched.sources(builder.tree, upstream))
