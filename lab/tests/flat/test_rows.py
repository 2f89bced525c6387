# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the flat tests' table, each in a QEMU of its own."""

from pathlib import Path

import pytest

from lab.testing import debug
from lab.testing.suite import ELSEWHERE, IMAGE, ROWS, SECONDS, Row, command, failures, line_of, run, shown
from lab.tests.plugin import Points, shows


@shows(line_of, shown)
@pytest.mark.parametrize("row", [
    pytest.param(row, id=row.name, marks=[pytest.mark.elsewhere] if row.name in ELSEWHERE else []) for row in ROWS
])
def test_row(row: Row, points: Points, tmp_path: Path, gdb: bool) -> None:
    if not row.offered("tcg"):
        pytest.skip(f"tcg does not offer {row.needs}")
    if gdb:
        debug.flat(command(row), IMAGE, tmp_path)
        return
    result = run(command(row), SECONDS)
    points(result.tap.passed, result.failed, result.tap.skipped)
    lines = [f"{row.name}: {result.why}" if result.why else row.name, *failures(result)]
    assert not result.failed, "\n".join(lines)
