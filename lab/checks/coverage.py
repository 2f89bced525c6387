# SPDX-License-Identifier: GPL-2.0-or-later
"""Which code carries out a rule and which tests prove it: what cites its number (43724-803, or "43724-801 to
43724-804") in its text or in the comment before it. docs/spec-coverage.md is made of that.

Code is a definition in vmcb/, the engine or the glue, or a patch, which cites in its message. A test is a property that
is proved, or what checks in several of them; one of Criterion; a program of guest-tests/ or kvm/tests/; a row of the
flat table, on its line or the one before; or one of pytest."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from lab.checks.citations import COVERAGE, DEFINITION, RULE, SPEC_PAGES, UNIT_TEST, Tree, guest_tests, line_of, rules
from lab.common.c_source import C_LIKE, tags
from lab.common.places import TOP

BEGIN = "<!-- what follows is made by ./vlwp build coverage -->\n"
HEAD = "| rule | by | both | TCG | KVM | proved | unit tests | in guests |"
CODE = {  # who carries it out, and where that lies
    "both": ("vmcb/", "kvm/engine/"),
    "TCG": ("qemu-patches/count/", "qemu-patches/lwp/", "qemu-patches/pmu/", "qemu-patches/patches/"),
    "KVM": ("kvm/svm/", "kvm/patches/"),
}
KINDS = ("proved", "unit")  # of tests, with a column each
ASIDE = {"tests", "fuzz", "proofs", "bench", "lab"}
TABLE = "guest-tests/flat/runner/table.py"
TO = r"\s+(?:\*\s+)?to\s+(?:\*\s+)?"  # a comment may break there
CITED = re.compile(rf"({RULE.pattern})(?:{TO}({RULE.pattern}))?")
MARK = re.compile(r"\[((?:MS|pub|P07|43724|inferred|recalled|choice)[^\]]*)\]")
WORDS = re.compile(r"\b(?:MS|pub|P07|inferred|recalled|choice)\b")
TOPIC = re.compile(r"^## (\d .+)$", re.MULTILINE)
ROW = re.compile(r"^ +Row\(\"(\w+)\"(?:[^\n]|\n {8})*", re.MULTILINE)
PYTEST = re.compile(r"^def test_(\w+)(?:[^\n]|\n+(?: |\)))*", re.MULTILINE)
EXCEPTION = re.compile(r"^\| ((?:43724|2007)-.*?) \| (no code|no test): ", re.MULTILINE)
PROGRAMS = (
    ("flat", re.compile(r"guest-tests/flat/tests/(\w+)\.c")), ("kvm", re.compile(r"kvm/tests/(\w+)\.c")),
    ("linux", re.compile(r"guest-tests/linux/test_(\w+)\.c")),
)
PROOF = re.compile(r"^(?:PROPERTY\((\w+)\)|static [\w *]+\b(\w+)\([^;]*?\))\n\{.*?^\}", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r'\b(?:rule|report_beside)\("([\d -]+)",\s*CERTAIN\b')
PARTS = re.compile(r"lab/tests/(flat|linux|migrate)/test_\w+\.py")
# Rules that are certain, and no row of the conformance suite proves. Of 43724 they are all (lab/tests/flat).
UNPROVED = (
    "43724-102",  # a processor without LWP, which is another test's
    *(f"43724-{n}" for n in (105, 106, 107, 111)),  # fields of the leaf
    "43724-215", "43724-910", "43724-911",  # about hypervisors
    "43724-418", "43724-422",  # what is ignored
    "43724-921", "43724-930",  # SMM, and quirks that are not imitated
    "2007-712",  # how long a load takes, which no program can choose
)


@dataclass
class Cites:
    """What cites a rule: code by who carries it out, tests by kind; in the order of the files."""

    code: dict[str, list[str]] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)


def cited(text: str, defined: Iterable[str]) -> set[str]:
    """The rules that a text cites."""
    spans = []
    for first, last in CITED.findall(text):
        revision, begin = first.split("-")
        spans.append((revision, range(int(begin), int((last or first).split("-")[1]) + 1)))
    return {
        rule for rule in defined for revision, numbers in spans
        if rule.startswith(f"{revision}-") and int(rule[len(revision) + 1:]) in numbers
    }


def _commented(lines: list[str], first: int) -> int:
    """Where the comment before a definition begins; lines are counted from 0."""
    while first and lines[first - 1].strip() and not re.search(r"[;}]$|^#|\*/$", lines[first - 1]):
        first -= 1  # a type on a line of its own
    start = first - 1
    if first and lines[start].endswith("*/"):
        while start and "/*" not in lines[start]:
            start -= 1
        if lines[start].lstrip().startswith("/*"):
            return start
    return first


def _definitions(tree: Tree, names: list[str]) -> Iterator[tuple[str, str]]:
    """Name and text of definitions and prototypes in C files."""
    known = tags([tree.top / name for name in names], "p")
    for name in names:
        lines = tree.texts[name].split("\n")
        for tag in known.get(tree.top / name, ()):
            last = tag.end or tag.line
            while not tag.end and last < len(lines) and lines[last - 1].endswith(("\\", ",")):
                last += 1
            yield tag.name, "\n".join(lines[_commented(lines, tag.line - 1):last])


def _code(tree: Tree) -> Iterator[tuple[str, str, str]]:
    """Who, name and text of what may carry out a rule."""
    for who, folders in CODE.items():
        names = [name for name in tree.texts if name.startswith(folders) and not ASIDE & set(PurePath(name).parts)]
        for name, text in _definitions(tree, [name for name in names if name.endswith(C_LIKE)]):
            yield who, f"`{name}`", text
        for name in names:
            if name.endswith(".patch"):
                path = PurePath(name)
                yield who, f"patch {path.parent.name}/{path.name[:4]}", tree.texts[name].partition("\ndiff --git ")[0]


def _unit_tests(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    lines = text.split("\n")
    for match in UNIT_TEST.finditer(text) if name.endswith(".c") else ():
        at = line_of(text, match.start()) - 1
        yield "unit", "::".join(match.groups()), "\n".join(lines[_commented(lines, at):lines.index("}", at)])


def _tests(tree: Tree) -> Iterator[tuple[str, str, str]]:
    """Kind, name and text of the tests."""
    known = guest_tests(tree)
    for name, text in tree.texts.items():
        yield from _unit_tests(name, text)
        for proof in PROOF.finditer(text) if "/proofs/" in name else ():
            yield "proved", proof[1] or proof[2], proof[0]
        for kind, pattern in PROGRAMS:
            program = pattern.fullmatch(name)
            for test in (program[1], f"kvm_{program[1]}") if program else ():
                if test in known[kind]:
                    yield kind, test, text
        if part := PARTS.fullmatch(name):
            yield from ((part[1], match[1], match[0]) for match in PYTEST.finditer(text))
    for match in ROW.finditer(tree.texts[TABLE]):
        before = tree.texts[TABLE][:match.start()].splitlines()[-1].lstrip()
        yield "flat", match[1], match[0] + (before if before.startswith("#") else "")


def gather(tree: Tree, defined: Iterable[str]) -> dict[str, Cites]:
    """What cites each of the rules."""
    found = {rule: Cites() for rule in defined}
    for who, name, text in _code(tree):
        for rule in cited(text, found):
            names = found[rule].code.setdefault(who, [])
            names += [name] * (name not in names)
    for kind, name, text in _tests(tree):
        for rule in cited(text, found):
            names = found[rule].tests.setdefault(kind, [])
            names += [f"`{name}`"] * (f"`{name}`" not in names)
    return found


def _trust(text: str) -> Iterator[tuple[str, str]]:
    """Each rule of a page, and the kinds of sources that it stands on; the page says what the words mean."""
    for part in re.split(r"^(?=\*\*|Note\.)", text, flags=re.MULTILINE):
        for rule in DEFINITION.findall(part):
            marks = [word for mark in MARK.findall(part) for word in WORDS.findall(mark) or ["43724"]]
            yield rule, ", ".join(dict.fromkeys(marks))


def trusted(tree: Tree) -> dict[str, str]:
    """Each rule of the pages, and the kinds of sources that it stands on."""
    return {rule: marks for page in SPEC_PAGES.values() for rule, marks in _trust(tree.texts[page])}


def certain(rule: str, marks: str) -> bool:
    """Is a rule one that every implementation of its revision obeys?"""
    return bool({"MS", "pub"} & set(marks.split(", ")) or rule.startswith("2007-") and "P07" in marks)


def certain_tests(tree: Tree) -> set[str]:
    """The unit tests that cite rules that are certain and that a row of the suite can prove, and no others."""
    trust = {rule: marks if rule not in UNPROVED else "" for rule, marks in trusted(tree).items()}
    cites = {name: cited(text, trust) for kind, name, text in _tests(tree) if kind == "unit"}
    return {name for name, those in cites.items() if those and all(certain(rule, trust[rule]) for rule in those)}


def claims(tree: Tree) -> Iterator[str]:
    """Points of the flat kernel that are said to be surer than the pages are."""
    trust = trusted(tree)
    for name, text in tree.texts.items():
        for found in CLAIM.finditer(text) if name.startswith("guest-tests/flat/") else ():
            if not any(certain(rule, trust.get(rule, "")) for rule in found[1].split()):
                yield f"{name}:{line_of(text, found.start())}: {found[1]}: no such rule is certain"


def _lines(tree: Tree, found: dict[str, Cites]) -> Iterator[str]:
    """The tables."""
    trust = trusted(tree)
    for topic in TOPIC.findall(tree.texts[SPEC_PAGES["43724"]]):
        yield from ("", f"## {topic}", "", HEAD, re.sub(r"[\w ]+", "---", HEAD))
        of_topic = (rule for rule in found if f"-{topic[0]}" in rule)
        for rule in sorted(of_topic, key=lambda rule: (rule.startswith("2007"), rule)):
            code, tests = found[rule].code, found[rule].tests
            guest = (f"{kind} {', '.join(names)}" for kind, names in tests.items() if kind not in KINDS)
            lists = [*(code.get(who, []) for who in CODE), *(tests.get(kind, []) for kind in KINDS)]
            cells = [rule, trust[rule], *(", ".join(names) for names in lists), "; ".join(guest)]
            yield f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def made(tree: Tree, found: dict[str, Cites]) -> str:
    """The page as the citations would have it."""
    return "\n".join([tree.texts[COVERAGE].partition(BEGIN)[0] + BEGIN.strip(), *_lines(tree, found), ""])


def problems(tree: Tree, defined: set[str]) -> Iterator[str]:
    """Rules without code or without a test of which the page does not say why; a page that is not made again."""
    found = gather(tree, defined)
    said = {(rule, what) for names, what in EXCEPTION.findall(tree.texts[COVERAGE]) for rule in cited(names, defined)}
    lacking = {(rule, "no code") for rule in defined if not found[rule].code}
    lacking |= {(rule, "no test") for rule in defined if not found[rule].tests}
    for rule, what in sorted(lacking - said):
        yield f"{COVERAGE}: {what} cites {rule}, and no row says why"
    for rule, what in sorted(said - lacking):
        yield f"{COVERAGE}: a row says that {what} cites {rule}"
    yield from claims(tree)
    if made(tree, found) != tree.texts[COVERAGE]:
        yield f"{COVERAGE} is not what code and tests cite: ./vlwp build coverage"


def write() -> None:
    """Make the page again."""
    tree = Tree(TOP)
    (TOP / COVERAGE).write_text(made(tree, gather(tree, rules(tree)[0])), encoding="utf-8")
