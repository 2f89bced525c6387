# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of build directories."""

import json
import tempfile
import unittest
from pathlib import Path

from lab.building import meson


class Configured(unittest.TestCase):
    """Which directories are ready to be built in."""

    def _configured(self, place: str, name: str, compiler: str) -> bool:
        """That of a directory `here`, which names one in the same place and has this compiler."""
        out = Path(place, "here")
        (out / "meson-info").mkdir(parents=True, exist_ok=True)
        (out / "build.ninja").touch()
        info = {"directories": {"build": str(Path(place, name))}}
        (out / "meson-info/meson-info.json").write_text(json.dumps(info), encoding="utf-8")
        tools = {"host": {"c": {"exelist": [compiler, "gcc"]}}}
        (out / "meson-info/intro-compilers.json").write_text(json.dumps(tools), encoding="utf-8")
        return meson.configured(out)

    def test_the_copy_of_a_build_directory_is_none(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            self.assertTrue(self._configured(place, "here", "sh"))
            self.assertFalse(self._configured(place, "elsewhere", "sh"))

    def test_one_whose_compiler_has_gone_is_none(self) -> None:
        """As ccache, with which it was configured."""
        with tempfile.TemporaryDirectory() as place:
            self.assertFalse(self._configured(place, "here", "no-such-ccache"))

    def test_an_empty_directory_is_none(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            self.assertFalse(meson.configured(Path(place)))
