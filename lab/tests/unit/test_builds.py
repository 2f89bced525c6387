# SPDX-License-Identifier: GPL-2.0-or-later
"""What a compiler says to the sources, and liblwp as its users build with it."""

import shutil
from pathlib import Path

import pytest

from lab.building import meson
from lab.common import proc
from lab.common.places import BUILD, HOST, TOP
from lab.tests.conftest import good

PROGRAM = TOP / "guest-tools/tests/liblwp_user.c"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")


@pytest.mark.long
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_build(cc: str) -> None:
    """Everything builds from scratch with warnings as errors."""
    out = BUILD / f"host-clean-{cc}"
    shutil.rmtree(out, ignore_errors=True)
    meson.fetch()
    good(meson.setup(out, ["--werror"], cc))
    good(meson.ninja(out))


@pytest.mark.parametrize("cc, language, standard", [
    ("gcc", "c", "c11"), ("clang", "c", "c11"), ("g++", "c++", "c++11"), ("clang++", "c++", "c++11"),
    ("g++", "c++", "c++20"),
])
def test_headers(tools_built: None, tmp_path: Path, cc: str, language: str, standard: str) -> None:
    """lwp.h and liblwp.h as C and C++. This machine has no LWP, and the program must notice."""
    program, folders = tmp_path / "user", [f"-I{TOP / name}" for name in ("guest-tools", "guest-tools/liblwp")]
    library = HOST / "guest-tools/liblwp/liblwp.a"
    sources: list[proc.Word] = ["-x", language, f"-std={standard}", PROGRAM, "-x", "none", library]
    good([cc, "-O2", *WARNINGS, *folders, *sources, "-lpthread", "-o", program])
    good([program])
