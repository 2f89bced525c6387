# SPDX-License-Identifier: GPL-2.0-or-later
"""A program under lwprun computes what it computes without: a share of ./vlwp soak results."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from lab.common.beside import side_by_side
from lab.guest import machine
from lab.testing.results import GUEST_MEMORY, Run, chunks, draw, guests_count, in_guest, known

RUNS = 12


@pytest.mark.long
def test_results(tmp_path: Path, seed: int) -> None:
    """Java computes the same under lwprun 12 times, on two processors of an overloaded host.

    Code that is written while it runs was executed with lost flags."""
    for name in ("java", "javac"):
        if not shutil.which(name):
            pytest.skip(f"there is no {name} on this machine: ./vlwp deps installs it")
    wanted, told = known(["java"], tmp_path), []

    def tell(run: Run, how: str) -> None:
        told.append(how)
        print(f"{run.seed} {run}: {how or 'right'}")

    runs = [draw(seed + at, ["java"], sizes=[2]) for at in range(RUNS)]
    guest = machine.Machine(memory=GUEST_MEMORY)
    side_by_side([partial(in_guest, guest, part, tmp_path, wanted, tell) for part in chunks(runs, 2)], guests_count())
    assert told == [""] * RUNS
