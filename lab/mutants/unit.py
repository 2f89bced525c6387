# SPDX-License-Identifier: GPL-2.0-or-later
"""Put each mutant of the lists of vmcb and kvm/engine into a copy of the shared code and see that the unit
tests that it names fail."""

import argparse
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from lab.building import meson
from lab.common import proc
from lab.common.places import BUILD, TOP
from lab.common.say import Died
from lab.common.steps import build_lock, compiler, make_dir, step
from lab.mutants import soak
from lab.mutants.listed import UNIT, Mutant, Test

TREE_FILES = ("meson.build", "meson_options.txt", "VERSION")
LEFT_OUT = ("guest_tools", "host_tools", "kvm_tests", "guest_tests", "lab")
PASSED = re.compile(r"^ok - (\S+)", re.MULTILINE)

add_options = soak.add_options


class Unit:
    """A copy of sources with a Meson build of its own: of vmcb/ and kvm/engine/."""

    listed = UNIT
    files: Sequence[str] = TREE_FILES
    # Of guest-tools/ and host-tools/ Meson reads the build files; nothing of them is compiled.
    folders: Sequence[str] = (*UNIT.folders, "guest-tools", "host-tools")
    options: Sequence[str] = ("-Dbuildtype=plain", *(f"-D{part}=disabled" for part in LEFT_OUT))
    limit = 30  # seconds for a test; what hangs fails

    def __init__(self, work: Path):
        self.tree, self.out = work / "tree", work / "obj"
        self.build_log, self.test_log = work / "build.log", work / "test.log"

    def prepare(self, mutants: Sequence[Mutant]) -> None:
        """Make copy and build, and see that every test that the mutants name exists and passes."""
        make_dir(self.tree)
        for name in self.files:
            soak.refresh(TOP / name, self.tree / name)
        for name in self.folders:
            soak.mirror(TOP / name, self.tree / name)
        if not meson.configured(self.out):
            setup = ["env", f"CC={compiler()}", "meson", "setup", "-Dtests=enabled", "-Dwerror=false", *self.options]
            folders = [str(self.out), str(self.tree)]
            step("configuring the mutants' build", "mutants-configure", setup + folders)
        tests = {test for mutant in mutants for test in mutant.tests}
        compile_all = meson.ninja(self.out, *self._targets(tests))
        step("building the tests that the list names", "mutants-compile", compile_all)
        for program in soak.programs(mutants):
            self._check_green(program, soak.names(mutants, program))

    def _targets(self, tests: Collection[Test]) -> list[str]:
        """What Ninja builds for tests; nothing is everything."""
        return sorted({test.program for test in tests})

    def _check_green(self, program: str, names: Sequence[str]) -> None:
        """The tests of a program exist, and all of them pass."""
        with self.test_log.open("w+", encoding="utf-8", errors="replace") as log:
            status = proc.logged(self._command(program, "--tap"), log)
            log.seek(0)
            output = log.read()
        if status:
            raise Died(f"{program} fails without any mutant (see {self.test_log})")
        missing = set(names) - set(PASSED.findall(output))
        if missing:
            raise Died(f"{self.listed}: there is no test '{min(missing)}' in {program}")

    def _command(self, program: str, *options: str) -> list[str]:
        """The command line of a program of tests."""
        return ["timeout", "--kill-after=5", str(self.limit), str(self.out / program), *options]

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""
        return self.tree / file

    def build(self, tests: Sequence[Test]) -> str:
        """Build what these tests need. Result: the first error, "" if there is none."""
        with self.build_log.open("w", encoding="utf-8") as log:
            failed = proc.logged(meson.ninja(self.out, *self._targets(tests)), log)
        return soak.first_error(self.build_log) if failed else ""

    def red(self, test: Test) -> bool:
        """Run a Criterion test, or a whole program. Does it fail?"""
        options = ["--filter", test.name.replace("::", "/", 1)] if test.name else []
        with self.test_log.open("w", encoding="utf-8") as log:
            return proc.logged(self._command(test.program, *options), log) != 0


def tried(args: argparse.Namespace, kind: type[Unit], name: str) -> int:
    """Carry out a command with a copy of this kind, which lies in a folder of this name."""
    mutants = soak.select(args, kind.listed)
    if args.list:
        return soak.show(mutants)
    with build_lock(name):
        meson.fetch()
        builder = kind(BUILD / name)
        builder.prepare(mutants)
        return soak.run(mutants, kind.listed, builder)


def main(args: argparse.Namespace) -> int:
    return tried(args, Unit, "mutants")
