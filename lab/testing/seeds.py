# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds: drawn anew for each run and printed, so that a run can be repeated."""

import random


def draw() -> int:
    """A seed of 30 bits."""
    return random.SystemRandom().getrandbits(30)
