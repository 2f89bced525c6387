# SPDX-License-Identifier: GPL-2.0-or-later
"""The case studies, docs/case-*.md, and docs/languages.md: their commands are run as they stand there.

A command is an indented line that begins with "$ ". Commands of a page, or of a language, run one after the other in
the tree's folder, in one shell that ends at the first which fails; $CASE is a folder for what they write."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.common.places import TOP
from lab.tests.conftest import run
from lab.tests.plugin import shows

COMMAND = re.compile(r"^    \$ (.*)$", re.MULTILINE)
# What the commands of a page print among other things (patterns).
CASES = {
    "counts": (
        "are the same in all 3 runs", r"instructions: \d+ are more than 600000", r"\| change \| \+0.0000% \|",
        '"instructions": ',
    ),
    "goto": (
        r"\n +\d+ \S+ \d+/\d+ instructions 0x\w+ hot_recurse", r"\nrip +0x", r" main \(", "RIP is that of the sample",
        r"instructions:k 0xf{8}\w+ [a-z_]\w+\+0x",
    ),
    "pgo": ("taken-branches",),
    "rr": ("\nreplayed\nreplayed\n",),
}


# Of each section of languages.md: what its program must be, and what its commands print.
LANGUAGES = {
    "C, C++, Rust, Go": (
        "g++ --version", (r" (int )?twice<int>(\(int\))? .* twice\.cc:1\n",)),
    "Java": ("javac --version", (r" int Fib\.fib\(int\) +\[jit\]",)),
    "Node": ("node --version", (r" JS:\*fib \S+ +\[jit\]",)),
    "Python": ("python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))'",
               (r"\bcalled by .* py::<lambda>:<string>", r"\bcalls .* py::<lambda>:<string>")),
    "Perl, Lua": ("perl -v", (" Perl_pp_add ",)),
}


def _run(text: str, place: Path, patterns: Sequence[str]) -> None:
    """Run the commands of a page or of a part of one."""
    ended = run(["bash", "-c", "\n".join(["set -e", *COMMAND.findall(text)])], cwd=TOP, env={"CASE": str(place)})
    assert ended.status == 0
    for pattern in patterns:
        assert re.search(pattern, ended.said), f"nothing it prints is like '{pattern}'"


@shows(lambda name: f"docs/case-{name}.md: its commands do what it says")
@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, tmp_path: Path) -> None:
    _run((TOP / f"docs/case-{name}.md").read_text(encoding="utf-8"), tmp_path, CASES[name])


def _sections() -> dict[str, str]:
    text = (TOP / "docs/languages.md").read_text(encoding="utf-8")
    return {part.partition(":")[0]: part for part in text.split("\n## ")[1:]}


@shows(lambda name: f"docs/languages.md: functions of {name} have names")
@pytest.mark.parametrize("name", LANGUAGES)
def test_language(name: str, tmp_path: Path) -> None:
    there, patterns = LANGUAGES[name]
    if run(["sh", "-c", there]).status:
        pytest.skip(f"needs {there}")
    assert list(_sections()) == list(LANGUAGES)
    _run(_sections()[name], tmp_path, patterns)
