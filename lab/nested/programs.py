# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of the programs in kvm/tests, by the table that kvmruns prints (kvm/tests/programs.c)."""

import json
from dataclasses import dataclass
from typing import Any

from lab.building import qemu_tree
from lab.common import bases, proc
from lab.common.places import KVM_PROGRAMS
from lab.nested.l1 import L1

SHADOW_STACKS = "shstk=on"  # what QEMU without our patch for the lab does not have


@dataclass(frozen=True)
class Run:
    """A program with its arguments, and the machine that it wants."""

    program: str
    name: str  # unique: as "test_perf/skid-500"
    line: str  # one line of description
    since: str  # the series of the first kernel that has what it tests; "": all have
    result: str  # "tap", "seeded-tap": TAP with a seed behind the arguments, or "exits"
    cpu: str
    kvm_amd: str  # parameters of kvm-amd
    args: tuple[str, ...]
    smp: int
    limit: int  # seconds
    single: bool  # the run for those who run each program once

    def lab(self) -> L1:
        """The machine."""
        flavour = qemu_tree.CET if SHADOW_STACKS in self.cpu else "vlwp"
        return L1(smp=self.smp, cpu=self.cpu, kvm_amd=self.kvm_amd, limit=self.limit, flavour=flavour)

    def command(self) -> list[str]:
        """The command line in L1."""
        return [str(KVM_PROGRAMS / self.program), *self.args]

    @property
    def title(self) -> str:
        """The program and, if there are several, which run of it: as "kvm_test_perf/skid-500"."""
        _, slash, variant = self.name.partition("/")
        return self.program + slash + variant

    @property
    def directory(self) -> str:
        """A name for a directory of this run."""
        return self.name.replace("/", "-")


def _number(series: str) -> list[int]:
    return [int(part) for part in series.split(".")]


def runs(kernel: str = "") -> list[Run]:
    """All runs that a kernel can have, the chosen one or that of a base, in the order of the table."""
    series = kernel or bases.linux_base().series
    rows = [_run(**row) for row in json.loads(proc.output([KVM_PROGRAMS / "kvmruns", "--runs"]))]
    return [run for run in rows if not run.since or _number(run.since) <= _number(series)]


def _run(args: list[str], **others: Any) -> Run:
    return Run(args=tuple(args), **others)


def run_of(program: str) -> Run:
    """The run of a program for those who run each once."""
    return next(run for run in runs() if run.program == program and run.single)
