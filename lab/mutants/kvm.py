# SPDX-License-Identifier: GPL-2.0-or-later
"""Put each mutant of kvm/svm/mutants.list into a copy of KVM's modules and see that the programs of
kvm/tests that it names fail in the nested lab."""

import argparse
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lab.building import linux, deps
from lab.common import bases, proc
from lab.common.places import BUILD
from lab.common.say import Died, Usage, say
from lab.common.steps import build_lock, make_dir, step
from lab.guest import vm
from lab.mutants import soak
from lab.mutants.listed import KVM, Mutant, Test
from lab.nested import l1, programs

PLAN = re.compile(r"^1\.\.", re.MULTILINE)
LIMIT = 300  # seconds for a program; what hangs fails

TAKES_BASE = True
add_options = soak.add_options


def _able(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Those whose programs the chosen kernel can run: others are for that of another base."""
    here = {run.program for run in programs.runs()}
    others = {run.program for series in bases.other_kernels() for run in programs.runs(series)} - here
    able = [mutant for mutant in mutants if not any(test.program.partition("/")[0] in others for test in mutant.tests)]
    if len(able) < len(mutants):
        say(f"{len(mutants) - len(able)} mutants are for another kernel: see --base")
    if not able:
        raise Usage("soak mutants-kvm: there is no mutant to try with this kernel")
    return able


class Kvm:
    """A copy of the tree in which KVM's modules are built."""

    def __init__(self, work: Path):
        self.work, self.svm = work, work / "tree/arch/x86/kvm/svm"
        self.build_log, self.test_log = work / "build.log", work / "test.log"
        self.linux = linux.fetch()
        runs = programs.runs()
        self.runs = {run.title: run for run in runs} | {run.program: run for run in runs if run.single}

    def prepare(self, mutants: Sequence[Mutant]) -> None:
        """Make the copy, and see that every test that the mutants name exists and passes."""
        make_dir(self.work)
        title = "laying out a copy of the modules' tree"
        step(title, f"{self.work.name}-tree", lambda log: linux.lay_out(self.linux, self.work, log))
        step("building the modules without a mutant", f"{self.work.name}-compile", self._make())
        linux.strip_modules(self.work / "tree", self.work)
        for program in soak.programs(mutants):
            if program not in self.runs:
                raise Died(f"{KVM}: kvm/tests has no program '{program}'")
            if self.red(Test(program, "")):
                raise Died(f"{program} fails without any mutant (see {self.test_log})")
            for name in soak.names(mutants, program):
                if not _has_line("ok ", name, self._output()):
                    raise Died(f"{KVM}: there is no test '{name}' in {program}")

    def _make(self) -> list[str]:
        # A mutant may leave a variable or a function unused.
        return linux.make_command(self.linux, self.work / "tree", werror=False)

    def _output(self) -> str:
        return self.test_log.read_text(encoding="utf-8", errors="replace")

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""
        return self.svm / ("" if file.startswith("kvm/svm/") else "lwp") / Path(file).name

    def build(self, tests: Sequence[Test]) -> str:
        """Build the modules. Result: the first error, "" if there is none."""
        with self.build_log.open("w", encoding="utf-8") as log:
            if proc.logged(self._make(), log):
                return soak.first_error(self.build_log)
        linux.strip_modules(self.work / "tree", self.work)
        return ""

    def red(self, test: Test) -> bool:
        """Run a program. Is a test not ok whose line has the name, or is the end not reached?"""
        run = self.runs[test.program]
        lab = replace(run.lab(), modules=self.work, limit=LIMIT)
        with vm.run_directory() as place, self.test_log.open("wb") as log:
            l1.boot(lab, place, run.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        output = self._output()
        ended = PLAN.search(output) is not None
        return not ended or _has_line("not ok ", test.name, output)


def _has_line(begin: str, name: str, output: str) -> bool:
    return any(line.startswith(begin) and name in line for line in output.splitlines())


def main(args: argparse.Namespace) -> int:
    mutants = soak.select(args, KVM)
    if args.list:
        return soak.show(mutants)
    deps.ensure()
    l1.prepare()
    mutants, name = _able(mutants), bases.of_linux("mutants-kvm")
    with build_lock(name):
        builder = Kvm(BUILD / name)
        builder.prepare(mutants)
        return soak.run(mutants, KVM, builder)
