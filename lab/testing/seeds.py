# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds: drawn for each run and printed, so that a run can be repeated."""

import random

from lab.common.options import SEED


def draw() -> int:
    """A seed that every command takes."""
    return random.SystemRandom().randint(0, SEED)
