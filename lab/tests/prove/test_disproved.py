# SPDX-License-Identifier: GPL-2.0-or-later
"""A property that does not hold fails, with an input that shows it in a program, too; so does what nothing reaches."""

from pathlib import Path

import pytest

from lab.common.places import TOP
from lab.tests.conftest import good, run
from lab.testing.proofs import ALL, File, disproved

FOLDERS = (TOP / "vmcb",)
SOURCE = TOP / "lab/tests/prove/prove_toy.c"


@pytest.fixture(name="toy")
def made(tmp_path: Path) -> File:
    """The file; what is made of it goes elsewhere."""
    return File(SOURCE, FOLDERS, tmp_path / "place")


def test_counterexample(toy: File, tmp_path: Path) -> None:
    """It is named with its rule, and the program that is made of the same file stops there with the input."""
    lines = disproved(toy, "wrong", ALL)
    assert len(lines) == 1 and "prove_toy.c:16: 43724-101: pair.kind != 7" in lines[0]
    place = Path(lines[0].rpartition(" with ")[2])
    data = place.read_bytes()
    assert data[:2] == b"\x34\x12" and data[2] == 7 and data[6:] == b"\xef\xcd\xab\x89"
    program = tmp_path / "toy"
    good(["clang", "-g", "-fsanitize=fuzzer", *(f"-I{TOP / name}" for name in ("vmcb", "vmcb/proofs")), toy.path,
          "-o", program])
    assert run([program, place], env={"PROPERTY": "unreached"}).status == 0
    ended = run([program, place], env={"PROPERTY": "wrong"})
    assert ended.status and "prove_toy.c:16: 43724-101: pair.kind != 7" in ended.err


def test_outside(toy: File) -> None:
    """A byte behind the last one is not read in a proof."""
    assert "bounds" in disproved(toy, "outside", ALL)[0]


def test_unreached(toy: File) -> None:
    """What is never true makes a proof empty."""
    assert disproved(toy, "unreached", ALL) == ["cover: n == 5: nothing reaches it"]
    assert disproved(toy, "empty", ALL) == ['cover: "its end": nothing reaches it']
