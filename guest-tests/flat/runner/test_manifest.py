# SPDX-License-Identifier: GPL-2.0-or-later
"""What the suite without the lab asks of CPUID, by the processors of its rows and what they ask of the leaf."""

import pytest

from manifest import MEANS, needs
from table import ROWS, Row

SHIPPED = "lwp,rev-43724,version-1,small-ring"
# Properties of the rows that mean nothing for CPUID by themselves.
OTHERS = {
    "+lwp", "pmu=on", "lwp-delivery=exact", "lwp-rev=2007", "lwp-profile=fam15h", "lwp-max-events=2",
    "lwp-max-events=1", "lwp-min-buffer=4",
}


@pytest.mark.parametrize("row, names", [
    (Row("a"), ""),
    (Row("a", absence=True), "no-lwp"),
    (Row("a", "+lwp,lwp-delivery=exact"), f"{SHIPPED},event-2"),
    (Row("a", "+lwp,lwp-profile=fam15h,lwp-min-buffer=4", asks=""), SHIPPED),
    (Row("a", "+lwp,lwp-rev=2007", asks="3-slots"), "lwp,rev-2007,3-slots"),
    (Row("a", "+lwp,lwp-context=os,lwp-vmcb=on,+svm", asks="event-3"), f"{SHIPPED},event-3,xsave,vmcb,svm"),
    (Row("a", "pmu=on,+perfctr-core"), "perfctr-core"),
    (Row("a", "+lwp", asks="event-5 event-6", hidden=True), f"{SHIPPED},event-5,event-6,no-xsave"),
])
def test_needs_follow_from_the_processor(row: Row, names: str) -> None:
    assert ",".join(need.name for need in needs(row)) == names


def test_every_property_of_the_rows_is_known() -> None:
    """One that is not known would be a row that fails elsewhere for no fault."""
    used = {prop for row in ROWS if not row.lab for prop in row.cpu.split(",")} - {""}
    assert used <= {*MEANS, *OTHERS}


def test_names_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
