# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of results.py: what is drawn, and which runs are wrong."""

import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from lab.testing.results import EVENTS, INTERVALS, PROGRAMS, Run, Wanted, chunks, draw, judge, missing

RUN = Run(7, "perl", 2, "instructions", 97)
WANTED = Wanted(0, b"197415\n")


class Draws(unittest.TestCase):
    """Runs of seeds."""

    def test_everything_is_drawn(self) -> None:
        """Each program, event and number of processors, and intervals between the two bounds; the same again."""
        runs = [draw(seed, list(PROGRAMS)) for seed in range(500)]
        self.assertEqual({run.program for run in runs}, set(PROGRAMS))
        self.assertEqual({run.event for run in runs}, set(EVENTS["tcg"]))
        self.assertEqual({run.smp for run in runs}, {2, 4})
        self.assertTrue(all(INTERVALS[0] <= run.interval <= INTERVALS[1] for run in runs if run.event != "windows"))
        self.assertEqual(runs, [draw(seed, list(PROGRAMS)) for seed in range(500)])

    def test_windows_under_kvm_are_of_the_program_with_few_branches(self) -> None:
        """Of those that are wanted: a result that is not known cannot be judged."""
        for programs, want in ((["flags", "sum-short"], {"sum-short"}), (["flags"], {"flags"})):
            runs = [draw(seed, programs, "kvm") for seed in range(100)]
            self.assertEqual({run.program for run in runs if run.event == "windows"}, want)

    def test_no_run_is_left_out(self) -> None:
        """Each is in one part, whose guest has its number of processors."""
        runs = [draw(seed, list(PROGRAMS)) for seed in range(100)]
        parts = chunks(runs, 3)
        self.assertEqual(sorted(run.seed for part in parts for run in part), list(range(100)))
        for part in parts:
            self.assertEqual({run.smp for run in part}, {part[0].smp})
            self.assertLessEqual(len(part), 3 * part[0].smp)


class Missing(unittest.TestCase):
    """What this machine has to have."""

    def test_a_program_that_is_built_here_is_not_missing(self) -> None:
        """In a fresh checkout it is built when the others are known to be there."""
        with mock.patch("shutil.which", return_value=None):
            self.assertEqual(missing(["flags", "perl", "xz"]), ["perl", "xz"])
        with mock.patch("shutil.which", return_value="/bin/true"):
            self.assertEqual(missing(list(PROGRAMS)), [])


class Judged(unittest.TestCase):
    """What a guest has left of a run."""

    def _judged(self, status: str, out: bytes, err: bytes = b"", ahead: float = 0) -> "str | None":
        text = f"{status} {time.time() + ahead:.0f}\n" if status else ""
        with tempfile.TemporaryDirectory() as name:
            for kind, data in (("status", text.encode()), ("out", out), ("err", err)):
                (Path(name) / f"7.{kind}").write_bytes(data)
            return judge(Path(name), RUN, WANTED)

    def test_output_and_status_are_the_result(self) -> None:
        """What a program says on its standard error is no part of it."""
        self.assertEqual(self._judged("0", WANTED.output, b"a word"), "")
        self.assertEqual(self._judged("0", b"197416\n"), "status 0: '197416'")
        self.assertEqual(self._judged("1", WANTED.output, b"\n# \x1b[1m\n"), r"status 1: '# \x1b[1m'")
        self.assertEqual(self._judged("134", b""), "status 134: ''")

    def test_a_clock_that_is_wrong_is_told(self) -> None:
        """The guest's patience was another; what is right stays so."""
        self.assertEqual(self._judged("0", WANTED.output, ahead=-400), "")
        self.assertEqual(self._judged("137", b"", ahead=-5), "status 137: ''")
        told = self._judged("137", b"", ahead=4000)
        self.assertRegex(told or "", r"^status 137, the guest's clock is (3999|4000|4001) s ahead: ''$")

    def test_a_run_without_status_has_not_ended(self) -> None:
        """Its output may be whole by then."""
        self.assertIsNone(self._judged("", WANTED.output))
        with tempfile.TemporaryDirectory() as name:
            self.assertIsNone(judge(Path(name), RUN, WANTED))
