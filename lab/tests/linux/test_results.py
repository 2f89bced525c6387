# SPDX-License-Identifier: GPL-2.0-or-later
"""A program under lwprun computes what it computes without: a share of ./vlwp soak results."""

import shutil
from functools import partial
from itertools import count, islice
from pathlib import Path

import pytest

from lab.common.beside import side_by_side
from lab.nested import machine
from lab.testing.results import GUEST_MEMORY, Run, chunks, draw, guests_count, in_guest, known

RUNS = 2


@pytest.mark.long
def test_results(tmp_path: Path, seed: int) -> None:
    """Java computes the same under lwprun twice, on two processors of an overloaded host, in some 20 s.

    Code that is written while it runs was executed with lost flags. Windows take three times as long, and are left to
    ./vlwp soak results."""
    for name in ("java", "javac"):
        if not shutil.which(name):
            pytest.skip(f"there is no {name} on this machine: ./vlwp deps installs it")
    wanted, told = known(["java-short"], tmp_path), []

    def tell(run: Run, how: str) -> None:
        told.append(how)
        print(f"{run.seed} {run}: {how or 'right'}")

    drawn = (draw(seed + at, ["java-short"], sizes=[2]) for at in count())
    runs = list(islice((run for run in drawn if run.interval), RUNS))
    guest = machine.Machine(memory=GUEST_MEMORY)
    side_by_side([partial(in_guest, guest, part, tmp_path, wanted, tell) for part in chunks(runs, 1)], guests_count())
    assert told == [""] * RUNS
