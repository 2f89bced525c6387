# SPDX-License-Identifier: GPL-2.0-or-later
"""deps.sh with programs of its own in the places of dpkg-query, sudo and apt-get: all packages are missing."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab.common.places import LAB

USER = 65534  # an ordinary one


class Deps(unittest.TestCase):
    """What is said, and whose the files are."""

    def setUp(self) -> None:
        self.top = Path(self.enterContext(tempfile.TemporaryDirectory())) / "top"
        (self.top / "lab/building").mkdir(parents=True)
        shutil.copy(LAB / "building/deps.sh", self.top / "lab/building")
        self.program("dpkg-query", "exit 0")

    def program(self, name: str, script: str) -> None:
        """A program that is found before that of the machine."""
        place = self.top / "bin" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
        place.chmod(0o755)

    def deps(self, *before: str) -> str:
        """What deps.sh says when it fails."""
        env = {"PATH": f"{self.top}/bin:{os.environ['PATH']}"}
        argv = [*before, str(self.top / "lab/building/deps.sh")]
        run = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1, run.stderr)
        return run.stderr

    def test_a_refused_sudo_is_called_that(self) -> None:
        """And nothing is written."""
        self.program("sudo", "echo 'sudo: a password is required' >&2; exit 1")
        self.top.parent.chmod(0o755)
        user = [] if os.geteuid() else ["setpriv", f"--reuid={USER}", "--clear-groups"]
        told = self.deps(*user)
        self.assertIn("sudo refuses (sudo: a password is required): have root run './vlwp deps' once", told)
        self.assertEqual(told.count("\n"), 1)
        self.assertFalse((self.top / "build").exists())

    def test_the_network_is_named_if_it_was_it(self) -> None:
        """Not for an expired list or a broken package."""
        self.program("sudo", '[ "$*" = "env true" ] || exec "$@"')
        for error, network in (("Failed to fetch http://x", True), ("Release file is expired", False)):
            self.program("apt-get", f"echo 'E: {error}'; exit 100")
            told = self.deps()
            self.assertIn(f"reading the package lists: E: {error} (", told)
            self.assertEqual("check the network" in told, network)

    @unittest.skipIf(os.geteuid(), "only root can give files to others")
    def test_what_root_makes_is_the_owners_of_the_checkout(self) -> None:
        """So that the user can build after root has installed."""
        self.program("apt-get", "exit 1")
        os.chown(self.top, USER, USER)
        self.deps()
        for place in (self.top / "build", self.top / "build/log"):
            self.assertEqual(place.stat().st_uid, USER)
