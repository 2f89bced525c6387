# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of the flat suite and its judge. They are no part of the lab, for they go to machines without it."""

import sys

from lab.common.places import TOP

RUNNER = TOP / "guest-tests/flat/runner"
sys.path.append(str(RUNNER))

from judge import FAILED, PASSED  # noqa: E402
from table import ROWS, Row  # noqa: E402

__all__ = ["FAILED", "PASSED", "ROWS", "RUNNER", "Row"]
