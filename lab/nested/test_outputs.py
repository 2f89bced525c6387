# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of what is read from the outputs of the nested lab."""

import unittest

from lab.benches.kvm import Part, Table, parts, reasons_line
from lab.common.kit import tap
from lab.nested.programs import Run
from lab.tests.kvm import late, test_diff

PROGRAM = "0x1: # dump program 7: ring 1a2b block 3c memory 4d stops 5 6 head {} missed 0 due 1\n"
HISTOGRAM = """\
# event histogram
#
{ exit_reason:         7b } hitcount:          1
{ exit_reason:         13 } hitcount:         47

Totals:
    Hits: 48
end none 0 1000 48
end long 0 51000 148
end lwp 10 1000 68
end perf 10 1000 128
"""


class TapResults(unittest.TestCase):
    """What a program of kvm/tests prints."""

    def test_what_fails_is_shown_with_two_lines(self) -> None:
        found = tap.read("ok 1 - a\nnot ok 2 - b\n# x\n# y\n# z\n1..2\n")
        self.assertEqual((found.passed, found.failed, found.complete), (1, 1, True))
        self.assertEqual(found.shown, ["not ok 2 - b", "# x", "# y"])

    def test_an_output_without_a_plan_is_not_complete(self) -> None:
        self.assertFalse(tap.read("ok 1 - a\n# seed 5\n").complete)
        self.assertEqual(tap.read("ok 1 - a\n# seed 5\n").notes, ["# seed 5"])

    def test_names(self) -> None:
        run = Run("perf", program="kvm_test_tf")
        self.assertEqual(run.title, "kvm_test_tf/perf")


class Records(unittest.TestCase):
    """What the random programs print."""

    def test_what_may_differ_is_left_out(self) -> None:
        self.assertEqual(test_diff.records(PROGRAM.format(2)), ["program 7 ring 1a2b block 3c head 2 missed 0 due 1"])

    def test_another_head_is_another_record(self) -> None:
        self.assertNotEqual(test_diff.records(PROGRAM.format(2)), test_diff.records(PROGRAM.format(3)))


class Late(unittest.TestCase):
    """What two runs of a program left, of which the second may be late."""

    want = (PROGRAM + "# record 2 10 0\n# record 3 20 30\n").format(40)
    late = (PROGRAM + "# record 2 11 0\n# record 3 20 30\n").format(41)

    def wrong(self, tested: str, traced: str, permille: int = 1) -> list[str]:
        """Beside the first."""
        return late.compare(self.want, tested, traced, permille)[1]

    def test_a_record_that_differs_is_named_by_an_overshoot(self) -> None:
        self.assertEqual(self.wrong(self.late, " event 2 names 0x11"), [])
        for traced in ("", " event 3 names 0x11", " event 2 names 0x10"):
            self.assertIn("record 0 (event 2, 0x11) is not the reference's", self.wrong(self.late, traced)[0])

    def test_a_lost_record_is_missed_instead(self) -> None:
        less = self.late.replace("# record 2 11 0\n", "")
        self.assertEqual(len(self.wrong(less, "")), 1)
        self.assertEqual(self.wrong(less.replace("missed 0", "missed 1"), ""), [])

    def test_none_may_be_late_at_0_permille(self) -> None:
        self.assertEqual(len(self.wrong(self.late, " event 2 names 0x11", 0)), 1)

    def test_equal_records_have_equal_rings(self) -> None:
        self.assertEqual(self.wrong(self.want, ""), [])
        self.assertEqual(len(self.wrong(self.want.replace("block 3c", "block 3d"), "")), 1)


class Costs(unittest.TestCase):
    """What bench-l1.sh prints."""

    def test_reasons_belong_to_the_next_end(self) -> None:
        found = list(parts(HISTOGRAM.splitlines(keepends=True)))
        self.assertEqual([part.how for part in found], ["none", "long", "lwp", "perf"])
        self.assertEqual(reasons_line(found[0]), "    exits, io 1, 0x13 47")
        self.assertEqual(found[1].reasons, ())

    def test_time_alone_is_taken_off(self) -> None:
        table = Table()
        rows = [table.row(part) for part in parts(HISTOGRAM.splitlines(keepends=True))]
        self.assertEqual(rows[2].split(), ["lwp", "prompt", "10", "68", "2.00", "1.0"])
        self.assertEqual(table.row(Part("lwp", 10, 2000, 70)).split()[4], "2.00")
        self.assertIn("4.0 times the exits per sample of lwp prompt, wanted at least 4: reached", table.end()[1])
