# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of build directories."""

import json
from pathlib import Path

from lab.building import meson


def configured(place: Path, name: str, compiler: str) -> bool:
    """That of a directory `here`, which names one in the same place and has this compiler."""
    out = place / "here"
    (out / "meson-info").mkdir(parents=True, exist_ok=True)
    (out / "build.ninja").touch()
    info = {"directories": {"build": str(place / name)}}
    (out / "meson-info/meson-info.json").write_text(json.dumps(info), encoding="utf-8")
    tools = {"host": {"c": {"exelist": [compiler, "gcc"]}}}
    (out / "meson-info/intro-compilers.json").write_text(json.dumps(tools), encoding="utf-8")
    return meson.configured(out)


def test_the_copy_of_a_build_directory_is_none(tmp_path: Path) -> None:
    assert configured(tmp_path, "here", "sh")
    assert not configured(tmp_path, "elsewhere", "sh")


def test_one_whose_compiler_has_gone_is_none(tmp_path: Path) -> None:
    """As ccache, with which it was configured."""
    assert not configured(tmp_path, "here", "no-such-ccache")


def test_an_empty_directory_is_none(tmp_path: Path) -> None:
    assert not meson.configured(tmp_path)
