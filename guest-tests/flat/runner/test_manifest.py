# SPDX-License-Identifier: GPL-2.0-or-later
"""What the suite without the lab asks of CPUID, by the processors of its rows."""

import pytest

from manifest import MEANS, needs
from table import ROWS, Row

FULL = "lwp,lwp-43724,all-events,all-features,all-filters"
# Properties of the rows that mean nothing for CPUID by themselves.
OTHERS = {
    "pmu=on", "lwp-delivery=exact", "lwp-rev=2007", "lwp-profile=fam15h", "lwp-max-events=2", "lwp-max-events=1",
    "lwp-min-buffer=4",
}


@pytest.mark.parametrize("row, names", [
    (Row("a"), ""),
    (Row("a", absence=True), "no-lwp"),
    (Row("a", "+lwp,lwp-delivery=exact"), FULL),
    (Row("a", "+lwp,lwp-profile=fam15h"), "lwp,lwp-43724,fam15h-events,fam15h-features,fam15h-filters"),
    (Row("a", "+lwp,lwp-rev=2007"), "lwp,lwp-2007"),
    (Row("a", "+lwp,lwp-rev=2007,lwp-max-events=1"), "lwp,one-slot"),
    (Row("a", "+lwp,lwp-context=os,lwp-vmcb=on,+svm,lwp-rev=2007"), "lwp,xsave,vmcb,svm,lwp-2007"),
    (Row("a", "pmu=on,+perfctr-core"), "perfctr-core"),
    (Row("a", "+lwp,lwp-min-buffer=4,lwp-max-events=2"), "lwp,lwp-43724,two-events,min-ring-4"),
    (Row("a", "+lwp", hidden=True, needs="clocks"), f"{FULL},no-xsave,clocks"),
])
def test_needs_follow_from_the_processor(row: Row, names: str) -> None:
    assert ",".join(need.name for need in needs(row)) == names


def test_every_property_of_the_rows_is_known() -> None:
    """One that is not known would be a row that fails elsewhere for no fault."""
    used = {prop for row in ROWS if not row.lab for prop in row.cpu.split(",")} - {""}
    assert used <= {*MEANS, *OTHERS}


def test_names_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
