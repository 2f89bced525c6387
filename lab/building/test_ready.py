# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known to be ready is that until something changes."""

from pathlib import Path

import pytest

from lab.building import ready
from lab.common import places


def test_a_change_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a source, of what is built, of Debian's packages, of a variable; not of a page."""
    stamps: dict[str, str] = {}
    monkeypatch.setattr(ready, "stamp", stamps.__setitem__)
    monkeypatch.setattr(ready, "fresh", lambda name, key: stamps.get(name) == key)
    monkeypatch.setattr(places, "TOP", tmp_path / "top")
    monkeypatch.setattr(places, "GUEST", tmp_path / "guest")
    monkeypatch.setattr(ready, "PACKAGES", tmp_path / "status")
    source, page = tmp_path / "top/lab/a.c", tmp_path / "top/docs/a.md"
    files = (source, page, tmp_path / "guest/vmlinux", tmp_path / "status")
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert not ready.unchanged()
    for file in files:
        ready.note()
        assert ready.unchanged()
        file.write_text("changed", encoding="ascii")
        assert ready.unchanged() == (file == page)
    ready.note()
    monkeypatch.setenv("VLWP_BASE", "linux-7.3")
    assert not ready.unchanged()
