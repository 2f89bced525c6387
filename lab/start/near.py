# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test --near: the tests that are nearest to what has changed since a commit, and why they are. What leads to a
test: a mutant of a definition that has changed names it as red; a row of docs/spec-coverage.md has the definition; the
file is its own source, or that of its part."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from subprocess import DEVNULL

from lab.checks import citations
from lab.common import proc
from lab.common.c_source import C_LIKE, Source, sources
from lab.common.places import TOP
from lab.common.say import Usage
from lab.mutants.listed import LISTS
from lab.mutants.parts import PARTS

HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
FILE = re.compile(r"^\+\+\+ b/(.*)\n", re.MULTILINE)
QUICK = ("lab", "unit", "flat")  # others are named; they run where a file of their own has changed
MOST = 12  # flat rows of one run
# Beginnings of paths, and the tests of all that is there. The words are names as ./vlwp test has them.
FOLDERS = (
    ("host-tools/profile/export/", "unit", "test_exports.py"), ("host-tools/profile/html/", "unit", "html"),
    ("host-tools/profile/report/", "unit", "test_reports.py"), ("host-tools/profile/diff/", "unit", "diff"),
    ("host-tools/", "unit", "test_bad_input.py"), ("host-tools/words", "unit", "test_completion.py"),
    ("guest-tools/", "linux", "profile"), ("guest-tools/", "linux", "ways"), ("guest-tools/", "linux", "threads"),
    ("kvm/svm/", "kvm", "test_insn"), ("kvm/svm/", "kvm", "test_step/step"), ("kvm/patches/", "kvm", "test_abi"),
    ("qemu-patches/", "flat", "retry"), ("qemu-patches/", "flat", "bre"), ("qemu-patches/", "flat", "ire"),
    ("libvirt/", "libvirt", "refused"), ("docs/", "unit", "citations"), ("lab/mutants/", "unit", "mutants_fit"),
    ("kvm/svm/", "unit", "layers"),
)


@dataclass
class Near:
    """Tests: part, name, and why."""

    reasons: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)  # parts of which a file has changed

    def add(self, part: str, name: str, why: str) -> None:
        """One more reason."""
        reasons = self.reasons.setdefault((part, name), [])
        if why not in reasons:
            reasons.append(why)

    def names(self, part: str) -> list[str]:
        """Those of a part, the ones with most reasons first."""
        found = [(name, why) for (where, name), why in self.reasons.items() if where == part]
        return [name for name, _ in sorted(found, key=lambda one: (-len(one[1]), one[0]))]


def changes(rev: str) -> dict[str, list[range]]:
    """The lines of each file that are new or other than in a commit; of a file that git does not know, all."""
    git: list[proc.Word] = ["git", "-C", TOP]
    if proc.call([*git, "rev-parse", "-q", "--verify", f"{rev}^{{commit}}"], stdout=DEVNULL, stderr=DEVNULL):
        raise Usage(f"test --near: '{rev}' is no commit")
    text = proc.output([*git, "diff", "-U0", "--no-renames", rev])
    found: dict[str, list[range]] = {}
    for part in re.split(r"^diff --git ", text, flags=re.MULTILINE)[1:]:
        if file := FILE.search(part):
            hunks = [(int(first), int(count or 1)) for first, count in HUNK.findall(part)]
            found[file[1]] = [range(first, first + max(count, 1)) for first, count in hunks]
    for name in proc.output([*git, "ls-files", "-o", "--exclude-standard"]).splitlines():
        found[name] = [range(1, 10**6)]
    return found


def definitions(source: Source, lines: list[range]) -> Iterator[str]:
    """The names of definitions in which one of the lines is."""
    starts = [match.end() for match in re.finditer("\n", source.text)]
    for name, same in source.definitions.items():
        for one in same:
            first, last = (sum(at <= place for at in starts) + 1 for place in (one.tokens[0].begin, one.tokens[-1].end))
            if any(part.start <= last and part.stop > first for part in lines):
                yield name


def _test(program: str, name: str) -> tuple[str, str]:
    """Part and name of a test as a list of mutants names it."""
    if program == "flat" or program in PARTS:
        return PARTS.get(program, program), name
    if program.startswith("kvm_"):
        return "kvm", program.removeprefix("kvm_")
    return "unit", f"tests/{PurePath(program).name}"


def _by_mutants(near: Near, changed: set[tuple[str, str]]) -> None:
    for listed in LISTS:
        for mutant in listed.mutants(TOP):
            for file, name in changed:
                if mutant.name in (name, PurePath(file).name) and f"/{file}".endswith(f"/{mutant.file}"):
                    for test in mutant.tests:
                        near.add(*_test(test.program, test.name), f"a mutant of {name} ({mutant.where})")


def _by_rules(near: Near, tree: citations.Tree, names: set[str]) -> None:
    """Rows of the table of rules that name a definition as a place."""
    programs = {
        pair: Path(file).stem for file, text in tree.texts.items() if file.endswith(".c")
        for pair in citations.UNIT_TEST.findall(text)
    }
    for line in tree.texts[citations.COVERAGE].splitlines():
        row = citations.cells(line)
        places = {place for cell in row[1:] for place in re.findall(r"`(\w+)`", cell)} & names
        for place in places:
            why = f"{row[0].partition(':')[0]} is done by {place}"
            for pair in citations.UNIT_NAME.findall(line):
                if pair in programs:
                    near.add("unit", f"tests/{programs[pair]}", why)
            for kind, found in citations.GUEST_NAMES.findall(line):
                for name in re.findall(r"`(\w+)`", found):
                    near.add(kind, name.removeprefix("kvm_"), why)


def _by_file(near: Near, tree: citations.Tree, file: str) -> None:
    """A test's own source, one that its name says, and what its folder has."""
    path, why = PurePath(file), file
    if path.match("host-tools/tests/*.py"):
        near.add("unit", "python", why)
        near.add("unit", path.name if path.name.startswith("test_") else "test_reports.py", why)
    elif path.suffix == ".py" and path.parts[0] == "lab":
        near.add("unit", "python", why)
        if path.parts[:2] == ("lab", "tests") and len(path.parts) > 3:
            near.own.add(path.parts[2])
            for name in [path.name] if path.name.startswith("test_") else _importers(tree, path):
                near.add(path.parts[2], name, why)
        else:
            for name in tree.names:
                if PurePath(name).parent == path.parent and PurePath(name).name.startswith("test_"):
                    near.add("lab", PurePath(name).name, why)
    elif file.startswith("guest-tests/flat/tests/"):
        table = (TOP / "guest-tests/flat/runner/table.py").read_text(encoding="utf-8")
        for name in re.findall(rf'Row\("(\w+)"[^\n]*test="{path.stem}"', table) + [path.stem]:
            near.add("flat", name, why)
    elif file.startswith("guest-tests/linux/") and path.name.startswith("test_"):
        near.own.add("linux")
        near.add("linux", path.stem.removeprefix("test_"), why)
    elif file.startswith("kvm/tests/kvm_"):
        near.own.add("kvm")
        near.add("kvm", path.stem.removeprefix("kvm_"), why)
    elif path.suffix in C_LIKE:
        stem = path.stem.removeprefix("test_").removeprefix("lwp_")
        for name in tree.names:
            if PurePath(name).match("tests/test_*.c") and PurePath(name).stem == f"test_{stem}":
                near.add("unit", f"tests/test_{stem}", why)
    for begin, part, name in FOLDERS:
        if file.startswith(begin):
            near.own.update({part} - set(QUICK))
            near.add(part, name, why)


def _importers(tree: citations.Tree, path: PurePath) -> list[str]:
    """The files of tests that use a module."""
    module = ".".join(path.with_suffix("").parts)
    return [
        PurePath(name).name for name in tree.names
        if PurePath(name).match("lab/tests/*/test_*.py") and PurePath(name).parent == path.parent
        and (module in tree.texts[name] or path.name == "conftest.py")
    ]


def near(rev: str) -> Near:
    """What is near to what has changed since a commit."""
    tree, found, changed = citations.Tree(TOP), Near(), changes(rev)
    code = [Path(file) for file in changed if file.endswith(C_LIKE) and (TOP / file).is_file()]
    names = {(source.path, name) for source in sources(TOP, code) for name in definitions(source, changed[source.path])}
    _by_mutants(found, names)
    _by_rules(found, tree, {name for _, name in names})
    for file in changed:
        if (TOP / file).is_file():
            _by_file(found, tree, file)
    return found


def told(found: Near) -> Iterator[str]:
    """What is chosen, a line each, and what is not run."""
    for (part, name), why in sorted(found.reasons.items()):
        more = f", and {len(why) - 1} more" if len(why) > 1 else ""
        yield f"{'' if runs(found, part, name) else 'not run: '}{part} {name}: {why[0]}{more}"


def runs(found: Near, part: str, name: str) -> bool:
    """Is this one of those that are run?"""
    if part == "flat":
        return name in found.names(part)[:MOST]
    return part in QUICK or part in found.own
