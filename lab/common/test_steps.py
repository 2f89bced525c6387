# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of steps.py: the compiler of a build."""

import unittest
from unittest import mock

from lab.common import steps


class Compiler(unittest.TestCase):
    """Its command lines."""

    def test_arguments_are_the_same_behind_ccache(self) -> None:
        """As build systems write it, with its path or without. The compiler's own name is none of them."""
        want = ["-DNAME=a b", "-c", "ccache.c"]
        for which in (None, "/usr/bin/ccache"):
            with mock.patch("shutil.which", return_value=which):
                self.assertEqual(steps.arguments(f"{steps.compiler('clang')} '-DNAME=a b' -c ccache.c"), want)
        self.assertEqual(steps.arguments("/usr/bin/ccache gcc '-DNAME=a b' -c ccache.c"), want)
