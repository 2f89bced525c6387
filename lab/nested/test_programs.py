# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of the programs in kvm/tests is complete."""

import re
from collections import Counter

import pytest

from lab.common import bases
from lab.common.places import TOP
from lab.nested.programs import PERF, PREFIX, TABLE, runs

EVERY = "99.0"  # a kernel that can have all


def test_each_program_that_is_built_has_one_row() -> None:
    """But for what measures or helps."""
    text = (TOP / "kvm/tests/meson.build").read_text(encoding="utf-8")
    built = set(re.findall(r"'(test_\w+)'", text)) | set(re.findall(r"executable\('kvm_(\w+)'", text))
    names = [program.name.removeprefix(PREFIX) for program in TABLE]
    assert Counter(names) == Counter(built - {"bench", "bench_switch"})


def test_runs_have_names_of_their_own() -> None:
    """An only run has that of its program."""
    assert max(Counter(run.name for run in runs(EVERY)).values()) == 1
    assert all(len(program.runs) == 1 or all(run.variant for run in program.runs) for program in TABLE)


def test_each_program_has_one_single_run() -> None:
    """Also those of which several rows are alike."""
    singles = Counter(run.program for run in runs(EVERY) if run.single)
    assert singles == Counter(program.name for program in TABLE)


def test_a_kernel_has_what_it_can_run() -> None:
    """7.3 and newer ones, by numbers."""
    assert {run.program for run in runs("7.10")} - {run.program for run in runs("6.12")} == {
        "kvm_test_mediated", "kvm_test_shstk"}


def test_shadow_stacks_need_a_qemu_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab's patches are for the default base's QEMU."""
    monkeypatch.setenv(bases.CHOICE, "qemu-11.1")
    assert "kvm_test_shstk" not in {run.program for run in runs(EVERY)}


def test_a_run_by_counters_needs_them() -> None:
    """Or what only the lab has; test --here would run it anywhere else."""
    assert all(run.needs for run in runs(EVERY) if PERF in run.kvm_amd)
