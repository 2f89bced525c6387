# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test migrate: save, restore and migrate guests with LWP; refuse what does not fit. Each case is a run of
migratetest, which draws its points from a fresh seed and prints it; `soak migrate --seed=N` repeats the draws."""

from collections.abc import Callable

from lab.common.report import Report
from lab.migrate.runs import RUNS, Run, execute, prepare, shown
from lab.testing import seeds
from lab.testing.part import Case, Part


class Migrate(Part):
    """The rows of the table of runs."""

    name = "migrate"

    def prepare(self) -> None:
        prepare()

    def cases(self) -> list[Case]:
        return [Case(run.name, run.line, self._test(run), shown(run)) for run in RUNS if run.in_test]

    @staticmethod
    def _test(run: Run) -> Callable[[Report], object]:
        return lambda report: execute(run, report, run.test, seeds.draw())


PART = Migrate()
