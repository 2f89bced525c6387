# SPDX-License-Identifier: GPL-2.0-or-later
"""What another compiler says to the sources, and liblwp as its users build with it."""

import json
import re
import subprocess
from collections.abc import Collection
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
CLANGS_OWN = re.compile(r"-fsanitize|-fno-sanitize|-gline")  # options that gcc has not, or that mean nothing here
WITH_VALUE, ALONE = ("-o", "-MF", "-MQ"), ("-c", "-MD")  # a driver's words of outputs


def _left(out: Path, compiled: Collection[str] = ()) -> dict[str, list[str]]:
    """Each source of a build that it has not compiled, nor another one, with the words that mean something to any
    compiler."""
    left = {}
    for entry in json.loads((out / "compile_commands.json").read_text(encoding="utf-8")):
        source, there = entry["file"], (out / entry["output"]).exists()
        if not re.match(r"\.\./\.\./.*\.c$", source) or source in compiled or there and not compiled:
            continue
        words = arguments(entry["command"])
        outputs = {at + more for at, word in enumerate(words) if word in WITH_VALUE for more in (0, 1)}
        left[source] = [word for at, word in enumerate(words) if word not in ALONE and at not in outputs]
    return left


@pytest.mark.long
def test_both_compilers(tools_built: None) -> None:
    """All C compiles with gcc and with clang, and warnings are errors: what the tools' build and that of the unit tests
    have not compiled."""
    sanitized("meson-test-prereq")
    entries = json.loads((HOST / "compile_commands.json").read_text(encoding="utf-8"))
    by_gcc = {entry["file"] for entry in entries}
    work = [["clang", *words] for words in _left(TESTS).values()]
    for words in _left(TESTS, by_gcc).values():
        work.append(["gcc", *(word for word in words if not CLANGS_OWN.match(word))])

    def says(command: list[str]) -> str:
        done = subprocess.run(
            [*command, "-Werror", "-fsyntax-only"], cwd=TESTS, text=True, capture_output=True, check=False
        )
        return done.stderr if done.returncode else ""

    assert len(work) > 100
    with ThreadPoolExecutor(jobs_count()) as pool:
        assert not [said for said in pool.map(says, work) if said]


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
