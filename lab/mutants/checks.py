# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of the lists that needs no build: does every mutant fit the sources, and does every test
that it names exist? `./vlwp test unit` asks."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from lab.common.c_source import Tree, words
from lab.mutants import patched
from lab.mutants.listed import KVM, QEMU, TOOLS, UNIT, MutantError, MutantList, Test, applied
from lab.mutants.parts import PARTS

FLAT_TABLE = "guest-tests/flat/runner/table.py"
KVM_TABLE = "lab/nested/programs.py"
TESTS = "lab/tests"


@cache
def _tokens(path: Path) -> str:
    """The tokens of a file, with a space before and after each."""
    return f" {' '.join(words(path.read_text(encoding='utf-8')))} " if path.is_file() else ""


def _unit_test_exists(top: Path, test: Test) -> bool:
    """A Criterion test is Test(SUITE, NAME) in the source of its program."""
    wanted = test.name.replace("::", " , ", 1) if test.name else "main ("
    return f" {wanted} " in _tokens(top / f"{test.program}.c")


def _kvm_test_exists(top: Path, test: Test) -> bool:
    """A program of the table of kvm/tests, or PROGRAM/RUN; the lines of its TAP are known only when it runs."""
    program, _, _ = test.program.partition("/")
    return f' "{program}" ' in _tokens(top / KVM_TABLE)


def _part_test_exists(top: Path, test: Test) -> bool:
    """A test of a part of ./vlwp test, not of a soak: FUNCTION, or FUNCTION/ROW of its table."""
    name, _, row = test.name.partition("/")
    texts = [path.read_text(encoding="utf-8") for path in (top / TESTS / PARTS[test.program]).glob("test_*.py")]
    found = [(text, text.partition(f"def test_{name}(")[0].rpartition("\n\n\n")[2]) for text in texts
             if f"def test_{name}(" in text]
    return any("mark.soak" not in decorators and (not row or f'"{row}"' in text) for text, decorators in found)


def _qemu_test_exists(top: Path, test: Test) -> bool:
    """A row of the table of the flat tests, or a test of a part."""
    if test.program in PARTS:
        return _part_test_exists(top, test)
    return test.program == "flat" and f' Row ( "{test.name}" ' in _tokens(top / FLAT_TABLE)


def _tools_test_exists(top: Path, test: Test) -> bool:
    """A Criterion test, one of pytest, or a test of a part."""
    if test.program.endswith(".py"):
        return f" def {test.name} (" in _tokens(top / test.program)
    return (_part_test_exists if test.program in PARTS else _unit_test_exists)(top, test)


CHECKED: tuple[tuple[MutantList, Callable[[Path, Test], bool]], ...] = (
    (UNIT, _unit_test_exists),
    (KVM, _kvm_test_exists),
    (QEMU, _qemu_test_exists),
    (TOOLS, _tools_test_exists),
)


def problems(top: Path) -> list[str]:
    """What is wrong with the mutants of all lists, a line each."""
    found: list[str] = []
    for listed, exists in CHECKED:
        try:
            found += _problems_of(top, listed, exists)
        except (MutantError, OSError) as err:
            found.append(str(err))
    return found


def _problems_of(top: Path, listed: MutantList, exists: Callable[[Path, Test], bool]) -> list[str]:
    found: list[str] = []
    tree = Tree(top, listed.folders)
    upstream = patched.added(top / listed.patches) if listed.patches else {}
    for mutant in listed.mutants(top):
        if mutant.file in upstream:
            if not patched.adds(upstream[mutant.file], words(mutant.was)):
                found.append(f"{mutant.where}: no patch adds '{mutant.was}' to {mutant.file}")
        else:
            try:
                applied(mutant, tree)
            except MutantError as err:
                found.append(str(err))
        for test in mutant.tests:
            if not exists(top, test):
                found.append(f"{mutant.where}: there is no test '{test}'")
    return found
