# SPDX-License-Identifier: GPL-2.0-or-later
"""How the unit tests are run."""

import unittest

from lab.testing import unit


class Timeouts(unittest.TestCase):
    """Of Meson, whose default is 30 s."""

    def test_timeouts_scale_with_the_load(self) -> None:
        """test_random takes 1.5 s: on two processors at load 15 it was cut off once."""
        self.assertEqual(unit.multiplier(0.9, 2), 1)
        self.assertEqual(unit.multiplier(15, 2), 8)


if __name__ == "__main__":
    unittest.main()
