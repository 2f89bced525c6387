# SPDX-License-Identifier: GPL-2.0-or-later
"""Put each fault of lab/mutants/unit.list into a copy of the shared code and see that the unit
tests that it names fail."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from lab.building import meson
from lab.common import proc
from lab.common.places import BUILD, TOP
from lab.common.say import Died
from lab.common.steps import build_lock, compiler, make_dir, step
from lab.mutants import soak
from lab.mutants.faults import UNIT, Fault, Test

TREE_FILES = ("meson.build", "meson.options")
READ_BY_MESON = ("guest-tools", "host-tools")  # their build files; nothing of them is compiled
LEFT_OUT = ("guest_tools", "host_tools", "libvirt", "kvm_tests", "guest_tests", "lab")
OPTIONS = ("-Dtests=enabled", "-Dbuildtype=plain", "-Dwerror=false", *(f"-D{part}=disabled" for part in LEFT_OUT))
LIMIT = 30  # seconds for a test; what hangs fails
PASSED = re.compile(r"^ok - (\S+)", re.MULTILINE)

add_options = soak.add_options


class Unit:
    """A copy of vmcb/ and kvm/engine/ with a Meson build of its own."""

    def __init__(self, work: Path):
        self.tree, self.out = work / "tree", work / "obj"
        self.build_log, self.test_log = work / "build.log", work / "test.log"

    def prepare(self, faults: Sequence[Fault]) -> None:
        """Make copy and build, and see that every test that the faults name exists and passes."""
        make_dir(self.tree)
        for name in TREE_FILES:
            soak.refresh(TOP / name, self.tree / name)
        for name in (*UNIT.folders, *READ_BY_MESON):
            soak.mirror(TOP / name, self.tree / name)
        if not meson.configured(self.out):
            setup = ["env", f"CC={compiler()}", "meson", "setup", *OPTIONS]
            folders = [str(self.out), str(self.tree)]
            step("configuring the faults' build", "mutants-configure", setup + folders)
        programs = soak.programs(faults)
        compile_all = meson.ninja(self.out, *programs)
        step("building the tests that the list names", "mutants-compile", compile_all)
        for program in programs:
            self._check_green(program, soak.names(faults, program))

    def _check_green(self, program: str, names: Sequence[str]) -> None:
        with self.test_log.open("w+", encoding="utf-8", errors="replace") as log:
            status = proc.logged(self._command(program, "--tap"), log)
            log.seek(0)
            output = log.read()
        if status:
            raise Died(f"{program} fails without any fault (see {self.test_log})")
        missing = set(names) - set(PASSED.findall(output))
        if missing:
            raise Died(f"{UNIT.path}: there is no test '{min(missing)}' in {program}")

    def _command(self, program: str, *options: str) -> list[str]:
        return ["timeout", "--kill-after=5", str(LIMIT), str(self.out / program), *options]

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""
        return self.tree / file

    def build(self, tests: Sequence[Test]) -> str:
        """Build what these tests need. Result: the first error, "" if there is none."""
        with self.build_log.open("w", encoding="utf-8") as log:
            failed = proc.logged(meson.ninja(self.out, *{test.program for test in tests}), log)
        return soak.first_error(self.build_log) if failed else ""

    def red(self, test: Test) -> bool:
        """Run a Criterion test, or a whole program. Does it fail?"""
        options = ["--filter", test.name.replace("::", "/", 1)] if test.name else []
        with self.test_log.open("w", encoding="utf-8") as log:
            return proc.logged(self._command(test.program, *options), log) != 0


def main(args: argparse.Namespace) -> int:
    """Carry out the command."""
    faults = soak.select(args, UNIT)
    if args.list:
        return soak.show(faults)
    with build_lock("mutants"):
        meson.fetch()
        builder = Unit(BUILD / "mutants")
        builder.prepare(faults)
        return soak.run(faults, UNIT, builder)
