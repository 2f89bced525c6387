# SPDX-License-Identifier: GPL-2.0-or-later
"""What another compiler says to the sources, and liblwp as its users build with it."""

import json
import re
from pathlib import Path

import pytest

from lab.common.beside import refused
from lab.common import proc
from lab.common.places import HOST, TOP
from lab.common.steps import arguments
from lab.tests.conftest import good, run
from lab.tests.unit.conftest import TESTS, sanitized

PROGRAM = TOP / "guest-tools/tests/liblwp_user.c"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")
CLANGS_OWN = re.compile("-fsanitize|-fno-sanitize")  # options that gcc has not, or that mean nothing here
WITH_VALUE, ALONE = ("-o", "-MF", "-MQ"), ("-c", "-MD")  # a driver's words of outputs


def _sources(out: Path) -> dict[str, list[str]]:
    """Each source of C that a build compiles, with the words that mean something to any compiler."""
    found = {}
    for entry in json.loads((out / "compile_commands.json").read_text(encoding="utf-8")):
        words = arguments(entry["command"])
        outputs = {at + more for at, word in enumerate(words) if word in WITH_VALUE for more in (0, 1)}
        if re.match(r"\.\./\.\./.*\.c$", entry["file"]):
            found[entry["file"]] = [
                word for at, word in enumerate(words)
                if word not in ALONE and at not in outputs and not CLANGS_OWN.match(word)
            ]
    return found


@pytest.mark.long
def test_both_compilers(tools_built: None) -> None:
    """All C compiles with gcc and with clang, and warnings are errors. clang builds all for the unit tests; gcc reads
    what the tools' build has not."""
    sanitized()
    by_gcc = _sources(HOST)
    left = [words for source, words in _sources(TESTS).items() if source not in by_gcc]
    assert len(left) > 50
    assert not refused((["gcc", *words, "-Werror", "-fsyntax-only"], TESTS) for words in left)


def test_example(tools_built: None, tmp_path: Path) -> None:
    """The example of lwp(3) compiles, and says what keeps it from profiling here."""
    page = (TOP / "guest-tools/liblwp/lwp.3").read_text(encoding="utf-8")
    source, program = tmp_path / "example.c", tmp_path / "example"
    source.write_text(page.partition(".EX\n")[2].partition(".EE\n")[0].replace("\\e", "\\"), encoding="ascii")
    folders = [f"-I{TOP / name}" for name in ("guest-tools", "guest-tools/liblwp")]
    good(["gcc", *WARNINGS, *folders, source, HOST / "guest-tools/liblwp/liblwp.a", "-lpthread", "-o", program])
    ended = run([program])
    assert (ended.status, ended.said) == (1, "no profile: no LWP in the processor, or the system has not enabled it\n")


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
