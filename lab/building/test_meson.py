# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of build directories."""

import json
import tempfile
import unittest
from pathlib import Path

from lab.building import meson


class Configured(unittest.TestCase):
    """Which directories are ready to be built in."""

    def test_the_copy_of_a_build_directory_is_none(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            for name, configured in (("here", True), ("elsewhere", False)):
                out = Path(place, "here")
                (out / "meson-info").mkdir(parents=True, exist_ok=True)
                (out / "build.ninja").touch()
                info = {"directories": {"build": str(Path(place, name))}}
                (out / "meson-info/meson-info.json").write_text(json.dumps(info), encoding="utf-8")
                self.assertEqual(meson.configured(out), configured)

    def test_an_empty_directory_is_none(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            self.assertFalse(meson.configured(Path(place)))
