# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests on each combination of the bases in lab/bases.toml that is not the default one, and guests that are
profiled while they go from one base's QEMU to another's, and from this QEMU to that of an older commit, and back: saved
and restored at points of a program, and live; and live between hosts of either kernel."""

import itertools
from pathlib import Path

import pytest

from lab.common import bases, places
from lab.common.steps import jobs_count
from lab.migrate.machines import alone
from lab.tests.conftest import good
from lab.tests.pytest_part import PARTS

pytestmark = pytest.mark.soak
POINTS, HOPS = 100, 10
VLWP = places.TOP / "vlwp"
QEMUS = [name.removeprefix("qemu-") for name in bases.names() if name.startswith("qemu-")]


def combinations() -> list[str]:
    """All pairs of a kernel and a QEMU but the default one, as for --base."""
    kinds = [[name for name in bases.names() if name.startswith(f"{kind}-")] for kind in bases.KINDS]
    pairs = [",".join(pair) for pair in itertools.product(*kinds)]
    return [pair for pair in pairs if pair != bases.default_pair()]


@pytest.mark.parametrize("part", ["flat", "kvm", "migrate"])
@pytest.mark.parametrize("base", combinations())
def test_bases(base: str, part: str) -> None:
    """A part of the test passes."""
    good([VLWP, "test", part, f"--base={base}"])


def emulator(series: str) -> Path:
    """That of a base."""
    good([VLWP, "build", "qemu", f"--base=qemu-{series}"])
    return places.BUILD / bases.of_qemu("qemu", series) / "qemu-system-x86_64"


def go(source: Path, destination: Path, seed: int, *options: str) -> None:
    """Points and hops from one QEMU to another."""
    PARTS["migrate"].prepare()
    for part, count in (("points", POINTS), ("live", HOPS)):
        numbers = f"--count={count}", f"--seed={seed}", f"--jobs={jobs_count()}"
        good(alone(part, *numbers, f"--qemu={source}", f"--into-qemu={destination}", *options))


@pytest.mark.parametrize("source, destination", itertools.permutations(QEMUS, 2))
def test_across(source: str, destination: str, seed: int) -> None:
    """Profiled guests go from one base's QEMU to another's, with a type of machine that both have."""
    go(emulator(source), emulator(destination), seed, f"--kind=pc-q35-{bases.default('qemu')}")


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_older(older: Path, back: bool, seed: int) -> None:
    """Profiled guests go from this QEMU to that of an older commit, or back."""
    source, destination = (older, places.qemu()) if back else (places.qemu(), older)
    go(source, destination, seed)


def test_across_kernels() -> None:
    """Live, there and back, between two hosts of the nested lab with either kernel's KVM."""
    good([VLWP, "soak", "migrate", "pair_kernels"])
