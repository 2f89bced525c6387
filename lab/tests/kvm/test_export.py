# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp export promises (lab/series/checks.py)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.series.checks import ROWS, WITHOUT_SERIES, written
from lab.tests.plugin import shows


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the series are, and what is made of them."""
    return tmp_path_factory.mktemp("export")


@shows(lambda line, function: line)
@pytest.mark.xdist_group("export")
@pytest.mark.parametrize("line, function", [pytest.param(line, function, id=name) for name, line, function in ROWS])
def test_export(line: str, function: Callable[[Path], object], place: Path) -> None:
    if function not in WITHOUT_SERIES and not (place / "series").is_dir():
        written(place)
    assert function(place) is not False
