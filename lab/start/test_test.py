# SPDX-License-Identifier: GPL-2.0-or-later
"""How ./vlwp test runs parts (test.py, pytest_part.py)."""

import argparse

from lab.common.say import Died, Skip
from lab.start import test
from lab.tests.pytest_part import PARTS, PytestPart, run


def test_parts_with_machines_run_together() -> None:
    """The fast ones go first, each by itself."""
    *fast, (together, _) = test._sessions([*PARTS])  # pylint: disable=protected-access
    assert fast == [(["lab"], []), (["unit"], [])] and set(together) == {*PARTS} - {"lab", "unit"}


def test_a_part_that_cannot_run_is_counted() -> None:
    """It is a failure, or a skip, and the others run."""
    parser = argparse.ArgumentParser()
    test.add_options(parser)

    def lacks(error: Exception) -> None:
        raise error

    parts = [PytestPart("one", "", lambda: lacks(Skip("lack"))), PytestPart("two", "", lambda: lacks(Died("no")))]
    sums = run([*parts, PytestPart("lab", "", words=("lab/common/test_say.py",))], [], parser.parse_args([]))
    assert (sums["one"][:3], sums["two"][:3]) == ([0, 0, 1], [0, 1, 0])
    assert sums["lab"][0] > 1 and not sums["lab"][1]


def test_a_name_means_one_of_the_tests_of_a_soak() -> None:
    """Not one that has just this name and is none of the soak's (windows)."""
    words = ("--list", "-m", "soak or not soak", "-k", "test_judged.py")
    lines = PARTS["linux"].lines(["windows"], *words, door="soak judged")
    assert [line.split()[1].partition("/")[0] for line in lines] == 4 * ["windows_intervals"] + ["windows_tenths:"]
