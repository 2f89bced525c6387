# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of mutants: reading one, choosing from it, and putting a mutant into the text of a source.

A mutant is two lines of a list, or more:

    lwp_state.c:check_ring: st->head >= st->size => st->head > st->size
    red: vmcb/tests/test_state_hostile hostile::head_outside_the_ring

The first names the definition, with a file before it only if several files define that name; then tokens of the
definition that occur in it once, and the tokens that replace them (none: they go). "#2" before the arrow means their
second occurrence.
red: a test that must fail with each of the mutants above it, as program and name of the test; more red: lines may
follow, then all of them must fail.
An indented line continues the one above; # begins a comment.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lab.common.c_source import Definition, Source, Tree, words

ARROW = re.compile(r"(?:^|\s)=>(?:\s|$)")
OCCURRENCE = re.compile(r"\s#([1-9])$")
PLACE = re.compile(r"(?:(?P<file>\S+\.\w+):)?(?P<name>(?:(?:struct|union|enum) )?[\w.]+): ?")
FILE = "mutants.list"


@dataclass(frozen=True)
class MutantList:
    """Lists, which lie beside the code, and the folders whose definitions their mutants are in."""

    name: str
    places: Sequence[str]
    folders: Sequence[str]
    patches: str = ""  # the folder of patches that change files of upstream, which a mutant names by their whole path

    def __str__(self) -> str:
        return ", ".join(f"{place}/{FILE}" for place in self.places)

    def mutants(self, top: Path) -> "list[Mutant]":
        """All of them."""
        return [mutant for place in self.places for mutant in read_list(top / place / FILE, f"{place}/{FILE}")]


UNIT = MutantList("unit", ("vmcb", "kvm/engine"), ("vmcb", "kvm/engine"))
KVM = MutantList("kvm", ("kvm/svm",), ("vmcb", "kvm"))
QEMU = MutantList(
    "qemu", ("qemu-patches",),
    ("vmcb", "kvm/engine", *(f"qemu-patches/{name}" for name in ("count", "lwp", "pmu", "user", "linux-user"))),
    "qemu-patches/patches"
)
TOOLS = MutantList(
    "tools", ("guest-tools", "host-tools", "guest-tests"),
    ("guest-tools", "host-tools", "guest-tests/flat/kernel", "guest-tests/flat/runner/judge.py")
)
LISTS = (UNIT, KVM, QEMU, TOOLS)


class MutantError(Exception):
    """A list or a mutant is wrong: the text says where and why."""


class Test(NamedTuple):
    """A test: the program, and what the program calls the test ("": the whole program)."""

    program: str
    name: str

    def __str__(self) -> str:
        return f"{self.program} {self.name}".rstrip()


@dataclass
class Mutant:
    """One mutant of a list."""

    where: str  # FILE:LINE of the list
    file: str = ""  # the end of the path of the source, if the name alone is ambiguous
    name: str = ""  # of the definition
    was: str = ""
    occurrence: int = 0  # which one is meant; 0: there is only one
    now: str = ""
    tests: list[Test] = field(default_factory=list)

    @property
    def place(self) -> str:
        """The definition as the list names it."""
        return f"{self.file}:{self.name}" if self.file else self.name

    @property
    def named(self) -> str:
        """The words by which a user chooses it: its place and its tests."""
        return " ".join([self.place, *map(str, self.tests)])

    @property
    def change(self) -> str:
        """The change as the list writes it."""
        occurrence = f" #{self.occurrence}" if self.occurrence else ""
        return f"{self.was}{occurrence} => {self.now}".rstrip()

    def __str__(self) -> str:
        return f"{self.place}: {self.change}"


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a list with their numbers, continued ones joined; "": an empty one, or a comment."""
    number, whole = 0, ""
    for at, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line[:1].isspace() and line.strip() and whole:
            whole += " " + line.strip()
            continue
        yield number, whole
        number, whole = at, "" if line.startswith("#") else line.strip()
    yield number, whole


def read_list(path: Path, shown: str = "") -> list[Mutant]:
    """All mutants of a list; SHOWN is what messages call the file."""
    mutants: list[Mutant] = []
    group: list[Mutant] = []  # whose tests come next
    for number, line in _lines(path):
        where = f"{shown or path}:{number}"
        if not line:
            if group and not group[-1].tests:
                raise MutantError(f"{group[-1].where}: this mutant lacks red:")
            group = []
            continue
        place = PLACE.match(line)
        if not place:
            raise MutantError(f"{where}: a line is PLACE: WAS => NOW, or begins with red: or #")
        text = line[place.end():].strip()
        if place["name"] != "red" or place["file"]:
            group = [one for one in group if not one.tests]
            group.append(Mutant(where, place["file"] or "", place["name"]))
            mutants.append(group[-1])
            _take_change(group[-1], text)
        elif not group or not text:
            raise MutantError(f"{where}: red: takes a test of the mutants before it")
        else:
            program, _, name = text.partition(" ")
            for mutant in group:
                mutant.tests.append(Test(program, name.strip()))
    return mutants


def _take_change(mutant: Mutant, text: str) -> None:
    parts = ARROW.split(text)
    if len(parts) != 2:
        raise MutantError(f"{mutant.where}: a change is written WAS => NOW")
    mutant.was, mutant.now = parts[0].strip(), parts[1].strip()
    if occurrence := OCCURRENCE.search(mutant.was):
        mutant.occurrence = int(occurrence[1])
        mutant.was = mutant.was[:occurrence.start()].strip()
    if not words(mutant.was) or words(mutant.was) == words(mutant.now):
        raise MutantError(f"{mutant.where}: this change changes nothing")


def chosen(mutants: Sequence[Mutant], texts: Sequence[str]) -> list[Mutant]:
    """The mutants whose place or tests contain one of the texts; without texts, all."""
    return [mutant for mutant in mutants if not texts or any(text in mutant.named for text in texts)]


def locate(mutant: Mutant, tree: Tree) -> tuple[Source, Definition]:
    """The definition in which a mutant is."""
    found = tree.where(mutant.name, mutant.file)
    if not found:
        raise MutantError(f"{mutant.where}: nothing defines '{mutant.place}'")
    if len(found) > 1:
        paths = ", ".join(source.path for source, _ in found)
        raise MutantError(f"{mutant.where}: '{mutant.place}' is defined {len(found)} times: {paths}")
    return found[0]


def applied(mutant: Mutant, tree: Tree) -> tuple[Source, str]:
    """The source in which a mutant is, and its text with the mutant."""
    source, definition = locate(mutant, tree)
    wanted = words(mutant.was)
    found = definition.find(wanted)
    index = mutant.occurrence - 1 if mutant.occurrence else 0
    if index >= len(found) or (len(found) > 1 and not mutant.occurrence):
        times = {0: "not at all", 1: "once"}.get(len(found), f"{len(found)} times")
        raise MutantError(f"{mutant.where}: '{mutant.was}' occurs {times} in {mutant.place}")
    first = definition.tokens[found[index]]
    last = definition.tokens[found[index] + len(wanted) - 1]
    before, after = source.text[:first.begin], source.text[last.end:]
    return source, f"{before} {mutant.now} {after}"
