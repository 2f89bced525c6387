# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the sources of the series."""

import unittest

from lab.series.sources import conditional

TEXT = """a
#ifdef M
with
#else
without
#endif
#ifdef OTHER
b
#endif
c
"""


class Conditional(unittest.TestCase):
    """Code that a series brings later."""

    def test_defined(self) -> None:
        """Only what is compiled with the macro stays."""
        self.assertEqual(conditional(TEXT, "M", True), "a\nwith\n#ifdef OTHER\nb\n#endif\nc\n")

    def test_not_defined(self) -> None:
        """Only what is compiled without it stays."""
        self.assertEqual(conditional(TEXT, "M", False), "a\nwithout\n#ifdef OTHER\nb\n#endif\nc\n")

    def test_definition(self) -> None:
        """The definition goes, with its comment."""
        self.assertEqual(conditional("a\n\n/* why */\n#define M\n\nb\n", "M", True), "a\n\nb\n")


if __name__ == "__main__":
    unittest.main()
