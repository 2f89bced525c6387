# SPDX-License-Identifier: GPL-2.0-or-later
"""Put each mutant of qemu-patches/mutants.list into a copy of QEMU; the tests that it names must fail: runs of the flat
kernel (`flat`), checks of `./vlwp test flat` (`check`), tests of `./vlwp test linux`, `migrate`; or into a copy of the
emulator of programs, whose tests are those of `./vlwp test linux` (`process`)."""

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

FLAVOUR, OF_PROGRAMS = "mutants", "user-mutants"
PROCESS = "process"  # a test of the emulator of programs
PREFIX = "qemu-patches/"
SHARED = ("vmcb/", "kvm/engine/")

add_options = soak.add_options


class Qemu:
    """A copy of the patched QEMU; flavour: of the emulator of programs, too."""

    def __init__(self, work: Path, flavour: str = FLAVOUR):
        self.flavour, self.program = flavour, qemu.program(flavour)
        self.variable = "VLWP_QEMU_USER" if flavour in qemu.USER else "VLWP_QEMU"
        self.tree, self.out = SRC / f"qemu-{flavour}", qemu.out_dir(flavour)
        self.build_log, self.test_log = work / "build.log", work / "test.log"

    def prepare(self, mutants: Sequence[Mutant]) -> None:
        """Make copy and build, and see that every run that the mutants name exists and passes."""
        # An interrupted run leaves a mutant there.
        (BUILD / f"stamp/qemu-{self.flavour}").unlink(missing_ok=True)
        qemu.build(self.flavour)
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
        target = ["-j", str(jobs_count()), self.program.name]
        with self.build_log.open("w", encoding="utf-8") as log:
            failed = proc.logged(["ninja", "-C", self.out, *target], log)
        return soak.first_error(self.build_log) if failed else ""

    def red(self, test: Test) -> bool:
        """Run a test. Does it fail?"""
        if test.program in parts.PARTS:
            return parts.red(test, self.test_log, self.variable, self.program)
        command = flatrun("--qemu", self.program, *only([test.name]))
        with self.test_log.open("w", encoding="utf-8") as log:
            return proc.logged(command, log) != 0


def _of_programs(mutant: Mutant) -> bool:
    """Is the emulator of programs the one that the mutant spoils?"""
    return any(test.program == PROCESS for test in mutant.tests)


def _try(mutants: Sequence[Mutant], builder: Qemu) -> None:
    builder.prepare(mutants)
    upstream = sorted({mutant.file for mutant in mutants})
    soak.run(mutants, QEMU, builder, patched.sources(builder.tree, upstream))


def main(args: argparse.Namespace) -> int:
    mutants = soak.select(args, QEMU)
    if args.list:
        return soak.show(mutants)
    tools.build()
    with build_lock("mutants-qemu"):
        work = BUILD / "mutants-qemu"
        make_dir(work)
        own = [mutant for mutant in mutants if _of_programs(mutant)]
        for flavour, some in ((FLAVOUR, [mutant for mutant in mutants if mutant not in own]), (OF_PROGRAMS, own)):
            if some:
                _try(some, Qemu(work, flavour))
    return 0
