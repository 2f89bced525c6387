# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the directories of runs, and of what is said of guests."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab.guest import vm
from lab.nested import machine


class RunDirectory(unittest.TestCase):
    """What a run leaves in the temporary directory."""

    def setUp(self) -> None:
        self.place = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(tempfile, "tempdir", str(self.place)))

    def test_nothing_is_left(self) -> None:
        with vm.run_directory() as run:
            self.assertTrue((run / "share").is_dir())
        self.assertEqual(list(self.place.iterdir()), [])

    def test_the_next_run_removes_what_a_killed_one_left(self) -> None:
        killed = self.place / "vlwp.killed"
        (killed / "share").mkdir(parents=True)
        (killed / vm.LOCK).touch()
        with vm.run_directory():
            self.assertFalse(killed.exists())

    def test_a_run_that_goes_on_keeps_its_directory(self) -> None:
        with vm.run_directory() as first, vm.run_directory() as second:
            self.assertTrue((first / "share").is_dir() and (second / "share").is_dir())

    def test_other_directories_stay(self) -> None:
        other = self.place / "vlwp.other"
        other.mkdir()
        with vm.run_directory():
            pass
        self.assertTrue(other.is_dir())


class Patience(unittest.TestCase):
    """What is said before a guest that takes long to boot."""

    def test_many_processors_on_few_are_said_to_take_long(self) -> None:
        self.assertIn("64 processors on the 2", machine.patience(64, 2))

    def test_a_usual_guest_is_booted_without_a_word(self) -> None:
        self.assertEqual([machine.patience(2, 2), machine.patience(4, 2)], ["", ""])
