# SPDX-License-Identifier: GPL-2.0-or-later
"""Citations: what a page, a comment or a test cites is in the repository.

- A rule number (43724-803, 2007-702) is defined in docs/spec.
- A page of docs/, with or without #section, and a relative link of a Markdown page exist.
- Nothing cites a page that is not in the repository.
- The tests that docs/spec-coverage.md names exist.
- The paths, functions, identifiers and commands of ./vlwp that a page or a cover letter names exist, and the options.
"""

import re
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from lab.commands import find

SPEC_PAGES = {"43724": "docs/spec/43724.md", "2007": "docs/spec/2007.md"}
COVERAGE = "docs/spec-coverage.md"

DEFINITION = re.compile(r"^\*\*((?:43724|2007)-\d+)\*\*", re.M)
# A date such as 2007-07 begins its second number with 0.
RULE = re.compile(r"(?<![\w.-])(?:43724|2007)-[1-9]\d*(?![\w-])")
PAGE = re.compile(r"(?<![\w./-])(docs/[\w./-]+\.md)(?:#([\w-]+))?")
FOREIGN = re.compile(
    r"\bDESIGN\b|spec/lwp|(?<![\w.-])lwp\.md\b|2007-proposal|"
    r"\bspec \d|\b2007[,:]? (?:section )?\d\.\d|\bproposal,? (?:section )?\d"
)

FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
CODE_SPAN = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(\s*([^)\s]+)[^)]*\)|^\[[^\]]+\]:\s+(\S+)|(?:src|href)=\"([^\"]+)\"", re.M)
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.M)
ANCHOR = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")

UNIT_TEST = re.compile(r"^(?:ParameterizedTest|Test|Theory)\(\s*(?:[^,()]*\*\s*\w+\s*,\s*)?(\w+),\s*(\w+)", re.M)
UNIT_NAME = re.compile(r"`(\w+)::(\w+|\*)`")
GUEST_NAMES = re.compile(r"\b(flat|linux|kvm|migrate)((?:,? `\w+`)+)")
FLAT_ROW = re.compile(r"\bRow\(\"(\w+)\"")
PROGRAM_ROW = re.compile(r"\"(kvm_\w+)\"")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")

PAST = "CHANGELOG.md"  # says what was
SPAN = re.compile(r"`([^`\n]+)`|^ {4}(\S.*)$", re.MULTILINE)
NAME = re.compile(r"(\w+)\(\)|([a-z]+(?:_[a-z0-9]+)+)")  # what can only be an identifier
PATH = re.compile(r"\.?[a-z-]+/[a-z0-9_./-]*")  # capitals stand for a name
OURS = re.compile(r"(?:^|/)(?:vlwp|lwprun|lwpctl|flatrun\.py) ")
OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]+)")
COMMAND = re.compile(r"\./vlwp ([a-z]+)(?: ([a-z-]+)\b(?![./*]))?")
# Of other projects.
FOREIGN_NAMES = {"kvm_handle_guest_mediated_pmi"}
FOREIGN_OPTIONS = {"durations", "junitxml", "lf"}


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def line_of(text: str, at: int) -> int:
    """The number of the line of an offset."""
    return text.count("\n", 0, at) + 1


def blanked(text: str, pattern: re.Pattern[str]) -> str:
    """The text with each match blanked out, lines kept."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


class Tree:
    """The files of the repository, whether committed or only added, without those that are ignored."""

    def __init__(self, top: Path) -> None:
        command = ["git", "-c", f"safe.directory={top}", "-C", str(top), "ls-files", "-co", "--exclude-standard", "-z"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.top = top.resolve()
        self.names = sorted({name for name in output.split("\0") if name and (top / name).is_file()})
        self.paths = set(self.names) | {str(parent) for name in self.names for parent in Path(name).parents}

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each file that is one."""
        texts = {}
        for name in self.names:
            data = (self.top / name).read_bytes() if "/corpus/" not in name else b"\0"
            if b"\0" not in data:
                texts[name] = data.decode(errors="replace")
        return texts

    @cached_property
    def anchors(self) -> dict[str, set[str]]:
        """The anchors of each Markdown page."""
        anchors: dict[str, set[str]] = {}
        for name, text in self.texts.items():
            if not name.endswith(".md"):
                continue
            found = anchors[name] = set(ANCHOR.findall(text))
            for heading in HEADING.findall(blanked(text, FENCE)):
                anchor, number = slug(heading), 0
                while (unique := f"{anchor}-{number}" if number else anchor) in found:
                    number += 1
                found.add(unique)
        return anchors

    def missing(self, page: str, anchor: str | None) -> str | None:
        """What is missing of a page or a section; None if nothing is."""
        if page not in self.paths:
            return f"there is no {page}"
        if anchor and anchor not in self.anchors.get(page, set()):
            return f"{page} has no section #{anchor}"
        return None

    def named(self, base_name: str, below: str) -> Iterator[str]:
        """The texts of the files of a name below a directory."""
        for name, text in self.texts.items():
            if Path(name).name == base_name and name.startswith(below):
                yield text


def rules(tree: Tree) -> tuple[set[str], list[str]]:
    """The rules that are defined, and what is wrong with their definitions."""
    defined: set[str] = set()
    wrong = []
    for revision, page in SPEC_PAGES.items():
        if page not in tree.texts:
            wrong.append(f"{page} does not exist")
            continue
        for match in DEFINITION.finditer(tree.texts[page]):
            place = f"{page}:{line_of(tree.texts[page], match.start())}"
            if match[1] in defined:
                wrong.append(f"{place}: {match[1]} is defined twice")
            if not match[1].startswith(revision + "-"):
                wrong.append(f"{place}: {match[1]} does not belong on this page")
            defined.add(match[1])
    return defined, wrong


def citation_problems(tree: Tree, defined: set[str]) -> Iterator[str]:
    """Rule numbers and pages that are cited anywhere."""
    for name, text in tree.texts.items():
        for match in RULE.finditer(text):
            if match[0] not in defined:
                yield f"{name}:{line_of(text, match.start())}: there is no rule {match[0]}"
        for match in PAGE.finditer(text):
            if missing := tree.missing(match[1], match[2]):
                yield f"{name}:{line_of(text, match.start())}: {missing}"
        if (tree.top / name).resolve() == Path(__file__).resolve():
            continue
        for match in FOREIGN.finditer(text):
            yield f"{name}:{line_of(text, match.start())}: '{match[0]}' cites what is not in the repository"


def link_problems(tree: Tree) -> Iterator[str]:
    """Relative links of Markdown pages."""
    for name, text in tree.texts.items():
        if not name.endswith(".md"):
            continue
        for match in LINK.finditer(blanked(blanked(text, FENCE), CODE_SPAN)):
            target, _, anchor = (match[1] or match[2] or match[3]).partition("#")
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            page = name
            if target:
                absolute = (tree.top / name).parent.joinpath(target).resolve()
                page = str(absolute.relative_to(tree.top)) if absolute.is_relative_to(tree.top) else target
            if missing := tree.missing(page, anchor or None):
                yield f"{name}:{line_of(text, match.start())}: {missing}"


def unit_tests(tree: Tree) -> set[tuple[str, str]]:
    """Suite and name of each Criterion test; each suite also with the name '*'."""
    tests = {pair for name, text in tree.texts.items() if name.endswith(".c") for pair in UNIT_TEST.findall(text)}
    return tests | {(suite, "*") for suite, _ in tests}


def python_tests(tree: Tree, part: str) -> set[str]:
    """The names of pytest's tests of a part."""
    texts = [text for name, text in tree.texts.items() if name.startswith(f"lab/tests/{part}/test_")]
    return {name for text in texts for name in re.findall(r"^def test_(\w+)", text, re.MULTILINE)}


def guest_tests(tree: Tree) -> dict[str, set[str]]:
    """The names of the tests that run in guests, by kind."""
    return {
        "flat": python_tests(tree, "flat")
        | {row for text in tree.named("table.py", "guest-tests/flat/") for row in FLAT_ROW.findall(text)},
        "linux": python_tests(tree, "linux") | {
            Path(name).stem.removeprefix("test_")
            for name in tree.names
            if name.startswith("guest-tests/linux/") and Path(name).match("test_*.c")
        },
        "kvm": {row for text in tree.named("programs.py", "lab/nested/") for row in PROGRAM_ROW.findall(text)},
        "migrate": python_tests(tree, "migrate"),
    }


def cells(line: str) -> list[str]:
    """The cells of a row of a table; none if the line is no row."""
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def coverage_problems(tree: Tree) -> Iterator[str]:
    """Tests that exist."""
    tests = unit_tests(tree)
    guest = guest_tests(tree)
    for number, line in enumerate(tree.texts[COVERAGE].splitlines(), 1):
        for suite, name in UNIT_NAME.findall(line):
            if (suite, name) not in tests:
                yield f"{COVERAGE}:{number}: there is no unit test {suite}::{name}"
        for kind, names in GUEST_NAMES.findall(line):
            for name in re.findall(r"`(\w+)`", names):
                if name not in guest[kind]:
                    yield f"{COVERAGE}:{number}: there is no {kind} test {name}"


def _span_problems(span: str, tree: Tree, words: set[str]) -> Iterator[str]:
    """What a piece of code in a page names and is not there."""
    named = NAME.fullmatch(span)
    if named and not {named[1] or named[2], f"test_{named[2]}"} & (words | FOREIGN_NAMES):
        yield span
    if PATH.fullmatch(span) and span.split("/")[0] in tree.paths and span.rstrip("/") not in tree.paths:
        yield span
    if OURS.search(span):
        options = OPTION.findall(span.split(" -- ")[0])
        yield from (f"--{name}" for name in options if name not in words | FOREIGN_OPTIONS)
    for name, part in COMMAND.findall(span):
        command = find(name)
        if name != "help" and not command or command and command.parts and part and not command.part(part):
            yield f"./vlwp {name} {part}"


def name_problems(tree: Tree) -> Iterator[str]:
    """What pages and cover letters name in code spans."""
    words: set[str] = set()
    for name, text in tree.texts.items():
        if not name.endswith(".md"):
            words.update(re.findall(r"\w[\w-]*", text), IDENTIFIER.findall(text))
    for name, text in tree.texts.items():
        if name.endswith((".md", "cover-letter")) and name != PAST:
            for match in SPAN.finditer(blanked(text, FENCE)):
                for missing in _span_problems(match[1] or match[2], tree, words):
                    yield f"{name}:{line_of(text, match.start())}: there is no {missing}"


def problems(tree: Tree) -> list[str]:
    """What is wrong in the tree, a line each."""
    defined, wrong = rules(tree)
    wrong += citation_problems(tree, defined)
    wrong += link_problems(tree)
    wrong += coverage_problems(tree)
    wrong += name_problems(tree)
    return wrong
