# SPDX-License-Identifier: GPL-2.0-or-later
"""Downloads, with a shell script in the place of apt's programs."""

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


HELPER = r"""#!/bin/sh
[ "$2" = "http://x/pool/main/a/a/a_1+ds.orig.tar.xz" ] || exit 1
printf whole >"$3"
[ "$4" = "SHA256:%s" ]
"""


@pytest.mark.usefixtures("fetch")
def test_a_tarball_comes_from_the_pool_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with another digest is no tarball, and neither is one that the pool has not."""
    (tmp_path / "helper").write_text(HELPER % DIGEST, encoding="utf-8")
    (tmp_path / "helper").chmod(0o755)
    monkeypatch.setattr(archive, "APT_HELPER", tmp_path / "helper")
    monkeypatch.setattr(archive, "archive_address", lambda _: "http://x/")
    file = tmp_path / "a_1+ds.orig.tar.xz"
    for release, digest in ("1+ds", DIGEST.upper()), ("2+ds", DIGEST):
        with pytest.raises(Died, match=f"cannot download a_{release[0]}"):
            archive.pooled("a", release, digest)
        assert not file.exists()
    assert archive.pooled("a", "1+ds", DIGEST) == file
    assert file.read_bytes() == b"whole"
