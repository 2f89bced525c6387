# SPDX-License-Identifier: GPL-2.0-or-later
"""The libFuzzer targets, on their committed corpus and on fresh input. A target fuzz_NAME has its corpus in a folder
corpus/fuzz_NAME beside its source; properties, prove_NAME, have none. Findings stay in build/fuzz/NAME."""

import re

import pytest

from lab.common import proc
from lab.common.places import BUILD, TOP
from lab.common.steps import make_dir
from lab.tests.conftest import good
from lab.tests.plugin import Tell
from lab.tests.unit.conftest import FOLDERS, SANITIZERS, TESTS, sanitized

SECONDS = 1
SOURCES = [
    path for folder in FOLDERS for path in sorted((TOP / folder).glob("*/*.c"))
    if re.search(r"LLVMFuzzerTest|^PROPERTY", path.read_text(encoding="utf-8"), re.MULTILINE)
]
TARGETS = {path.stem: str(path.relative_to(TOP).with_suffix("")) for path in SOURCES}  # paths of the programs, too


@pytest.fixture(scope="session")
def fuzzers() -> None:
    """Built, as the unit tests are."""
    sanitized(*TARGETS.values())


@pytest.mark.parametrize("name", TARGETS)
def test_fuzz(name: str, fuzzers: None, seed: int, scale: int, tell: Tell) -> None:
    """Its corpus, and fresh input."""
    place, kept = BUILD / "fuzz" / name, (TOP / TARGETS[name]).parent / "corpus" / name
    corpus = [kept] if name.startswith("fuzz_") else []
    assert all(folder.is_dir() for folder in corpus)
    make_dir(place / "new")
    fuzzer: list[proc.Word] = [TESTS / TARGETS[name], "-print_final_stats=1", f"-artifact_prefix={place}/"]
    good([*fuzzer, "-runs=0", *corpus], env=SANITIZERS)
    tell(f"{name} on fresh input for {SECONDS * scale} s, seed {seed}")
    fresh = [f"-max_total_time={SECONDS * scale}", f"-seed={seed}", "-timeout=25"]
    if not corpus:  # which is proved; see that it runs
        fresh.append(f"-runs={10000 * scale}")
    good([*fuzzer, *fresh, place / "new", *corpus], env=SANITIZERS)
