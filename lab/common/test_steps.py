# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of steps.py: the compiler of a build."""

from unittest import mock

from lab.common import steps


def test_arguments_are_the_same_behind_ccache() -> None:
    """As build systems write it, with its path or without. The compiler's own name is none of them."""
    want = ["-DNAME=a b", "-c", "ccache.c"]
    for which in (None, "/usr/bin/ccache"):
        with mock.patch("shutil.which", return_value=which):
            assert steps.arguments(f"{steps.compiler('clang')} '-DNAME=a b' -c ccache.c") == want
    assert steps.arguments("/usr/bin/ccache gcc '-DNAME=a b' -c ccache.c") == want
