# SPDX-License-Identifier: GPL-2.0-or-later
"""Downloads, with a shell script in the place of apt-get."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.common import archive
from lab.common.say import Died

DIGEST = hashlib.sha256(b"whole").hexdigest()


Fetch = Callable[[str], list[Path]]


@pytest.fixture
def fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fetch:
    """Fetches with a script for apt-get."""
    fakes = {"DL": tmp_path, "LOG": tmp_path, "BUILD": tmp_path, "update": lambda: None, "say": lambda text: None,
             "query": lambda *words: f"'http://x/a.deb' a.deb 5 SHA256:{DIGEST}\n"}
    for name, fake in fakes.items():
        monkeypatch.setattr(archive, name, fake)

    def fetch(script: str) -> list[Path]:
        monkeypatch.setattr(archive, "_apt", lambda *words: ["sh", "-ec", script])
        return archive.fetch(["download", "a"], "a")

    return fetch


def test_what_is_there_is_not_fetched_again(tmp_path: Path, fetch: Fetch) -> None:
    """A file of this hash."""
    (tmp_path / "a.deb").write_bytes(b"whole")
    assert fetch("exit 1") == [tmp_path / "a.deb"]


def test_a_file_of_another_hash_is_fetched(tmp_path: Path, fetch: Fetch) -> None:
    """It was cut off, or is of another version."""
    (tmp_path / "a.deb").write_bytes(b"who")
    fetch("printf whole >a.deb")
    assert (tmp_path / "a.deb").read_bytes() == b"whole"


def test_an_interrupted_download_is_continued(tmp_path: Path, fetch: Fetch) -> None:
    """apt-get finds what it has left."""
    with pytest.raises(Died):
        fetch("printf who >a.deb; exit 1")
    fetch("printf le >>a.deb")
    assert (tmp_path / "a.deb").read_bytes() == b"whole"
    assert not (tmp_path / ".fetch").exists()
