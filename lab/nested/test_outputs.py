# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of what is read from the outputs of the nested lab."""

from lab.benches.kvm import Part, Table, parts
from lab.common.kit import tap
from lab.nested.programs import Run
from lab.tests.kvm import late, test_diff

PROGRAM = "0x1: # dump program 7: ring 1a2b block 3c memory 4d stops 5 6 head {} missed 0 due 1\n"
BENCH = """\
end none 0 1000 48
end long 0 51000 148
end lwp 10 1000 68
end perf 10 1000 128
"""


def test_what_fails_is_shown_with_two_lines() -> None:
    found = tap.read("ok 1 - a\nnot ok 2 - b\n# x\n# y\n# z\n1..2\n")
    assert (found.passed, found.failed, found.complete) == (1, 1, True)
    assert found.shown == ["not ok 2 - b", "# x", "# y"]


def test_an_output_without_a_plan_is_not_complete() -> None:
    assert not tap.read("ok 1 - a\n# seed 5\n").complete
    assert tap.read("ok 1 - a\n# seed 5\n").notes == ["# seed 5"]


def test_names() -> None:
    run = Run("perf", program="kvm_test_tf")
    assert run.title == "kvm_test_tf/perf"


def test_what_may_differ_is_left_out() -> None:
    assert test_diff.records(PROGRAM.format(2)) == ["program 7 ring 1a2b block 3c head 2 missed 0 due 1"]


def test_another_head_is_another_record() -> None:
    assert test_diff.records(PROGRAM.format(2)) != test_diff.records(PROGRAM.format(3))


WANT = (PROGRAM + "# record 2 10 0\n# record 3 20 30\n").format(40)
LATE = (PROGRAM + "# record 2 11 0\n# record 3 20 30\n").format(41)


def wrong(tested: str, traced: str, permille: int = 1) -> list[str]:
    """Beside the first."""
    return late.compare(WANT, tested, traced, permille)[1]


def test_a_record_that_differs_is_named_by_an_overshoot() -> None:
    assert wrong(LATE, " event 2 names 0x11") == []
    for traced in ("", " event 3 names 0x11", " event 2 names 0x10"):
        assert "record 0 (event 2, 0x11) is not the reference's" in wrong(LATE, traced)[0]


def test_a_lost_record_is_missed_instead() -> None:
    less = LATE.replace("# record 2 11 0\n", "")
    assert len(wrong(less, "")) == 1
    assert wrong(less.replace("missed 0", "missed 1"), "") == []


def test_none_may_be_late_at_0_permille() -> None:
    assert len(wrong(LATE, " event 2 names 0x11", 0)) == 1


def test_equal_records_have_equal_rings() -> None:
    assert wrong(WANT, "") == []
    assert len(wrong(WANT.replace("block 3c", "block 3d"), "")) == 1


def test_time_alone_is_taken_off() -> None:
    table = Table()
    rows = [table.row(part) for part in parts(BENCH.splitlines(keepends=True))]
    assert rows[2].split() == ["lwp", "prompt", "10", "68", "2.00", "1.0"]
    assert table.row(Part("lwp", 10, 2000, 70)).split()[4] == "2.00"
    assert "4.0 times the exits per sample of lwp prompt, wanted at least 4: reached" in table.end()[1]
