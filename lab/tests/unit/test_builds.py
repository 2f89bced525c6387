# SPDX-License-Identifier: GPL-2.0-or-later
"""What another compiler says to the sources, and liblwp as its users build with it."""

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.common import proc
from lab.common.places import HOST, TOP
from lab.common.steps import arguments, jobs_count
from lab.tests.conftest import good
from lab.tests.unit.conftest import TESTS, sanitized

PROGRAM = TOP / "guest-tools/tests/liblwp_user.c"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")
CLANG_ONLY = "-Wno-gnu-variable-sized-type-not-at-end"  # struct kvm_msrs of the kernel is such a type
GCC = "../../guest-tests/flat/"  # the image is gcc's
WITH_VALUE, ALONE = ("-o", "-MF", "-MQ"), ("-c", "-MD")  # a driver's words of outputs


def _sources() -> Iterator[tuple[str, list[str]]]:
    """Each source of C of the tree once, with the words that mean something to any compiler."""
    entries = json.loads((TESTS / "compile_commands.json").read_text(encoding="utf-8"))
    files = {entry["file"]: entry["command"] for entry in entries if re.match(r"\.\./\.\./.*\.c$", entry["file"])}
    for file, command in files.items():
        if file.startswith(GCC):
            continue
        words = arguments(command)
        outputs = {at + more for at, word in enumerate(words) if word in WITH_VALUE for more in (0, 1)}
        yield file, [word for at, word in enumerate(words) if word not in ALONE and at not in outputs]


@pytest.mark.long
def test_clang() -> None:
    """All C compiles with clang and warnings as errors; gcc compiles it so when the unit tests are built."""
    sanitized("build.ninja")

    def says(source: tuple[str, list[str]]) -> str:
        command = ["clang", *source[1], "-Werror", "-fsyntax-only", CLANG_ONLY]
        done = subprocess.run(command, cwd=TESTS, text=True, capture_output=True, check=False)
        return f"{source[0]}: {done.stderr}" if done.returncode else ""

    sources = list(_sources())
    assert len(sources) > 300
    with ThreadPoolExecutor(jobs_count()) as pool:
        assert not [said for said in pool.map(says, sources) if said]


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
