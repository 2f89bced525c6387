# SPDX-License-Identifier: GPL-2.0-or-later
"""Which code and which tests cite a rule (coverage.py)."""

import subprocess
from pathlib import Path

import pytest

from lab.checks import coverage
from lab.checks.citations import COVERAGE, Tree, rules

SPEC = "## 1 CPUID\n\n" + "".join(f"**43724-{at}** It is so. [MS; pub: Xen] \n\n" for at in range(101, 107))
PAGE = f"# Rules\n\n| rule | why |\n|---|---|\n{{rows}}\n## More\n\n{coverage.BEGIN}"
CODE = """/* File. Source: 43724-101 to 43724-106. */

#define A 1 /* 43724-101 */

/*
 * A comment that breaks (43724-102
 * to 43724-103).
 */
int f(int a,
      int b)
{
\treturn a;
}

static int g(void)
{
\treturn 1; /* 43724-104 */
}
int h; /* 43724-105 */
/* 43724-106 */
int k(void);
"""
TEST = "/* 43724-103 */\n\nTest(s, one) /* 43724-101 */\n{\n\tf();\n}\n\n/* 43724-102 */\nTest(s, two)\n{\n}\n"
PROOF = 'static bool ok(u32 a,\n\tu32 b)\n{\n\t/* 43724-102 */\n}\nPROPERTY(holds)\n{\n\t/* 43724-101 */\n}\n'
PATCH = "It is (43724-101).\n---\ndiff --git a/a b/a\n+/* 43724-102 */\n"
TABLE = 'ROWS = (\n    Row("a"),  # 43724-103\n    # 43724-104\n    Row("b",\n        test="a"),\n    Row("c"),\n)\n'
PYTEST = 'def test_p() -> None:\n    """43724-105"""\n\n    assert 1\n\n\ndef test_q() -> None:\n    """None."""\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository that has each kind of what cites."""
    for name, text in (
        ("docs/spec/43724.md", SPEC), ("docs/spec/2007.md", ""), (COVERAGE, PAGE), ("vmcb/a.c", CODE),
        ("vmcb/tests/test_a.c", TEST), ("vmcb/proofs/prove_a.c", PROOF), (coverage.TABLE, TABLE),
        *((f"guest-tests/flat/tests/{name}.c", "/* 43724-106 */\n") for name in ("c", "helper")),
        ("kvm/patches/0001-a.patch", PATCH), ("lab/tests/migrate/test_a.py", PYTEST),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    return tmp_path


def test_what_cites_a_rule(tree: Path) -> None:
    """A definition by its text or the comment before it, not by a file's; a test likewise."""
    found = coverage.gather(Tree(tree), rules(Tree(tree))[0])
    code = {rule[-1]: cites.code for rule, cites in found.items()}
    assert code["1"] == {"both": ["`A`"], "KVM": ["patch patches/0001"]}
    assert code["2"] == code["3"] == {"both": ["`f`"]} and code["4"] == {"both": ["`g`"]}
    assert code["5"] == {"both": ["`h`"]} and code["6"] == {"both": ["`k`"]}
    assert {rule[-1]: cites.tests for rule, cites in found.items()} == {
        "1": {"proved": ["`holds`"], "unit": ["`s::one`"]}, "2": {"proved": ["`ok`"], "unit": ["`s::two`"]},
        "3": {"flat": ["`a`"]}, "4": {"flat": ["`b`"]}, "5": {"migrate": ["`p`"]}, "6": {"flat": ["`c`"]},
    }


def test_tests_that_cite_only_what_is_certain(tree: Path) -> None:
    """One that cites something less sure besides may be of that."""
    (tree / "docs/spec/43724.md").write_text(SPEC.replace("MS; pub: Xen", "choice", 2), encoding="ascii")
    both = "/* 43724-102, 43724-103 */\nTest(s, three)\n{\n}\n/* 43724-103 */\nTest(s, four)\n{\n}\n"
    (tree / "vmcb/tests/test_a.c").write_text(TEST + both, encoding="ascii")
    assert coverage.certain_tests(Tree(tree)) == {"s::four"}


@pytest.mark.parametrize("name, lacking, row, says", [
    ("vmcb/a.c", "43724-104", "", "no code cites 43724-104, and no row says why"),
    ("vmcb/a.c", "43724-104", "| 43724-103, 43724-104 | no code: a |", "a row says that no code cites 43724-103"),
    ("vmcb/a.c", "43724-104", "| 43724-104 | no code: a |", ""),
    ("lab/tests/migrate/test_a.py", "43724-105", "", "no test cites 43724-105, and no row says why"),
    ("lab/tests/migrate/test_a.py", "43724-105", "| 43724-105 | no test: a |", ""),
])
def test_a_rule_without_code_or_test_needs_a_reason(tree: Path, name: str, lacking: str, row: str, says: str) -> None:
    """And a reason needs a rule without."""
    (tree / name).write_text((tree / name).read_text(encoding="ascii").replace(lacking, ""), encoding="ascii")
    (tree / COVERAGE).write_text(PAGE.format(rows=row), encoding="ascii")
    problems = [*coverage.problems(Tree(tree), rules(Tree(tree))[0])]
    assert problems[-1] == f"{COVERAGE} is not what code and tests cite: ./vlwp build coverage"
    assert problems[:-1] == ([f"{COVERAGE}: {says}"] if says else [])


def test_no_point_claims_more_than_the_pages(tree: Path) -> None:
    """A point is certain if one of its rules is."""
    (tree / "docs/spec/43724.md").write_text(f"{SPEC}**43724-107** It is so. [choice]\n", encoding="ascii")
    text = 'rule("43724-101 43724-107", CERTAIN);\nrule("43724-107", CERTAIN);\nrule("43724-107", CHOICE);\n'
    (tree / "guest-tests/flat/tests/c.c").write_text(text, encoding="ascii")
    assert [*coverage.claims(Tree(tree))] == ["guest-tests/flat/tests/c.c:2: 43724-107: no such rule is certain"]


def test_the_page_made_is_that_of_the_citations(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before the tables stays; made again, it is the same."""
    monkeypatch.setattr(coverage, "TOP", tree)
    (tree / COVERAGE).write_text(PAGE.format(rows=""), encoding="ascii")
    for _ in range(2):
        coverage.write()
        text = (tree / COVERAGE).read_text(encoding="ascii")
        assert "| 43724-101 | MS, pub | `A` | | patch patches/0001 | `holds` | `s::one` | |\n" in text
        assert text.startswith("# Rules\n") and text.count("\n## More\n") == text.count("\n## 1 CPUID\n") == 1
        assert not [*coverage.problems(Tree(tree), rules(Tree(tree))[0])]
