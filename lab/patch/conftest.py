# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of ./vlwp patch share."""

from pathlib import Path

import pytest

from lab.patch import edit, kinds
from lab.patch.toy import Toy


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    """Nothing of it is edited yet."""
    monkeypatch.setattr(kinds, "BUILD", tmp_path / "build")
    monkeypatch.setattr(edit, "step", lambda _title, _log, work, **_: work(None))
    return Toy(tmp_path)
