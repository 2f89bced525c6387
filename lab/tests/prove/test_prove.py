# SPDX-License-Identifier: GPL-2.0-or-later
"""Each property of vmcb/proofs and kvm/engine/proofs holds for all inputs. See docs/proofs.md."""

import zlib
from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from lab.common.results import Results
from lab.tests.conftest import good
from lab.tests.plugin import shows
from lab.testing.proofs import COMMON, LEAVES, File, Split, disproved, files
from lab.tests.unit.conftest import SANITIZERS, TESTS, sanitized

ALL_TABLES = "kvm/engine/proofs/all_tables"


def _runs() -> Iterator[ParameterSet]:
    for file in files():
        for name in file.properties:
            for split in file.splits(name):
                soak = name in file.says("Soak") or split in LEAVES and split.name not in COMMON
                words = [name, *([split.name] if split.name else [])]
                yield pytest.param(file, name, split, id="/".join(words), marks=[pytest.mark.soak] if soak else [])


def _line(file: File, name: str, split: Split) -> str:
    return f"{file.path.name}{f', {split.name}' if split.name else ''}"


@shows(_line)
@pytest.mark.parametrize(("file", "name", "split"), _runs())
def test_proof(file: File, name: str, split: Split, pytestconfig: pytest.Config) -> None:
    """For all inputs."""
    path = pytestconfig.getoption("--results")
    if not path:
        assert not disproved(file, name, split)
        return
    results, key = Results(path, file.code, True), zlib.crc32(f"{name} {split.name}".encode()) % 10**9
    if results.lines.get(key, "").split()[2:3] != ["right"]:
        wrong = disproved(file, name, split)
        results.add(key, not wrong, f"{name} {split.name}".rstrip())
        assert not wrong


@pytest.mark.parametrize("operations", [5, pytest.param(7, marks=pytest.mark.soak)])
def test_tables(operations: int) -> None:
    """The table of contexts, after each sequence of operations."""
    sanitized(ALL_TABLES)
    assert good([TESTS / ALL_TABLES, str(operations)], env=SANITIZERS) == f"{20 ** operations} sequences\n"
