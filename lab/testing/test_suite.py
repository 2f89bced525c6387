# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rows ./vlwp test leaves out (suite.py)."""

import re

from lab.checks.citations import COVERAGE, GUEST_NAMES, UNIT_NAME
from lab.common.places import TOP
from lab.mutants.listed import LISTS
from lab.testing.suite import ELSEWHERE, OF_TOOL, ROWS

OF_THE_KERNEL = {"self_user", "self_smp"}  # the test kernel itself, of which no rule says anything


def test_a_row_that_a_mutant_names_or_a_rule_needs_is_run() -> None:
    """All others are left out: a new row needs a mutant that it kills."""
    mutants = [mutant for listed in LISTS for mutant in listed.mutants(TOP)]
    needed = {test.name for mutant in mutants for test in mutant.tests if test.program == "flat"}
    for line in (TOP / COVERAGE).read_text(encoding="utf-8").splitlines():
        for kind, names in GUEST_NAMES.findall(line) if not UNIT_NAME.search(line) else ():
            needed |= set(re.findall(r"`(\w+)`", names)) if kind == "flat" else set()
    assert set(ELSEWHERE) == {row.name for row in ROWS if row.lab != OF_TOOL} - needed - OF_THE_KERNEL
