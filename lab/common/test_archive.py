# SPDX-License-Identifier: GPL-2.0-or-later
"""Downloads, with a shell script in the place of apt-get."""

import hashlib
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab.common import archive
from lab.common.say import Died

DIGEST = hashlib.sha256(b"whole").hexdigest()


class Fetch(unittest.TestCase):
    """What apt-get has to do."""

    def setUp(self) -> None:
        self.dl = Path(self.enterContext(tempfile.TemporaryDirectory()))
        fakes = {"DL": self.dl, "LOG": self.dl, "BUILD": self.dl, "update": lambda: None, "say": lambda text: None,
                 "query": lambda *words: f"'http://x/a.deb' a.deb 5 SHA256:{DIGEST}\n"}
        for name, fake in fakes.items():
            self.enterContext(mock.patch.object(archive, name, fake))

    def fetch(self, script: str) -> list[Path]:
        """With this script for apt-get."""
        with mock.patch.object(archive, "_apt", lambda *words: ["sh", "-ec", script]):
            return archive.fetch(["download", "a"], "a")

    def test_what_is_there_is_not_fetched_again(self) -> None:
        """A file of this hash."""
        (self.dl / "a.deb").write_bytes(b"whole")
        self.assertEqual(self.fetch("exit 1"), [self.dl / "a.deb"])

    def test_a_file_of_another_hash_is_fetched(self) -> None:
        """It was cut off, or is of another version."""
        (self.dl / "a.deb").write_bytes(b"who")
        self.fetch("printf whole >a.deb")
        self.assertEqual((self.dl / "a.deb").read_bytes(), b"whole")

    def test_an_interrupted_download_is_continued(self) -> None:
        """apt-get finds what it has left."""
        with self.assertRaises(Died):
            self.fetch("printf who >a.deb; exit 1")
        self.fetch("printf le >>a.deb")
        self.assertEqual((self.dl / "a.deb").read_bytes(), b"whole")
        self.assertFalse((self.dl / ".fetch").exists())
