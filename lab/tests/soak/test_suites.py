# SPDX-License-Identifier: GPL-2.0-or-later
"""Other people's suites that use performance counters, in a guest that has them and on Debian's QEMU without them."""

from dataclasses import replace

import pytest

from lab.common.say import Skip
from lab.testing import suites
from lab.tests.plugin import Points, Tell
from lab.tests.soak.test_same_twice import Kept

pytestmark = pytest.mark.soak
SUITES = suites.table()


@pytest.mark.parametrize("name", SUITES)
def test_suite(name: str, pytestconfig: pytest.Config, points: Points, tell: Tell) -> None:
    """Enough tests of a suite run in a guest with counters, and none fails but for a cause that is known."""
    suite, (part, parts) = SUITES[name], pytestconfig.getoption("--part")
    kept = Kept(pytestconfig.getoption("--results"), points, repr(replace(suite, known={})))
    what = f"{name} {part}/{parts}"
    if kept.stands(what):
        return
    if figures := suites.explained(suite, kept.line(what)):
        kept.add(what, "", figures)
        return
    try:
        root = suites.built(suite)
        tests = suites.names(suite, root)[part - 1::parts]
        assert tests, f"{name} has fewer than {part} tests"
        ours, stock = (suites.run(suite, root, tests, one) for one in (False, True))
    except Skip as err:
        pytest.skip(str(err))
    for verdict, causes in (("failed", ours.failed), ("skipped", ours.skipped)):
        for test, cause in causes.items():
            tell(f"{name} {verdict} {test}: {suite.known.get(test, cause)}")
    figures = f"version {suites.version(suite, root)}, {ours}; on stock QEMU {stock}"
    tell(f"{what}: {figures}")
    wrong = [test for test in ours.failed if test not in suite.known]
    others = [kept.line(f"{name} {number}/{parts}") for number in range(1, parts + 1) if number != part]
    if not suites.enough([f": {figures}", *others]):
        wrong.append("too many are skipped")
    kept.add(what, " ".join(wrong), figures)
    assert not wrong, f"{what}: {figures}: {' '.join(wrong)}"
