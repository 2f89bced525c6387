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

    def test_another_condition_inside(self) -> None:
        """Another condition between the lines goes or stays as a whole."""
        text = "#ifdef M\n#if OTHER > 1\na\n#else\nb\n#endif\nc\n#else\n#ifdef OTHER\nd\n#endif\n#endif\ne\n"
        self.assertEqual(conditional(text, "M", True), "#if OTHER > 1\na\n#else\nb\n#endif\nc\ne\n")
        self.assertEqual(conditional(text, "M", False), "#ifdef OTHER\nd\n#endif\ne\n")

    def test_inside_another_condition(self) -> None:
        """So does another condition around them."""
        text = "#ifdef OTHER\na\n#ifdef M\nb\n#else\nc\n#endif\n#else\nd\n#endif\n"
        self.assertEqual(conditional(text, "M", True), "#ifdef OTHER\na\nb\n#else\nd\n#endif\n")

    def test_definition(self) -> None:
        """The definition goes, with its comment."""
        self.assertEqual(conditional("a\n\n/* why */\n#define M\n\nb\n", "M", True), "a\n\nb\n")
