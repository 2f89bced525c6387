# SPDX-License-Identifier: GPL-2.0-or-later
"""The case studies, docs/case-*.md, and docs/languages.md: their commands are run as they stand there.

A command is an indented line that begins with "$ ". Commands of a page, or of a language, run one after the other in
the tree's folder, in one shell that ends at the first which fails; $CASE is a folder for what they write."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.common import archive, bases
from lab.common.places import TOP
from lab.tests.conftest import good, run
from lab.tests.plugin import Points, Tell, shows
from lab.tests.soak.test_same_twice import Kept

COMMAND = re.compile(r"^    \$ (.*)$", re.MULTILINE)
# What the commands of a page print among other things (patterns).
CASES = {
    "counts": (
        "are the same in all 3 runs", r"instructions: \d+ are more than 600000", r"\| change \| \+0.0000% \|",
        '"instructions": ',
    ),
    "goto": (
        r"\n +\d+ \S+ \d+/\d+ instructions 0x\w+ hot_recurse", r"\nrip +0x", r" main \(", "RIP is that of the sample",
        r"instructions:k 0xf{8}\w+ [a-z_]\w+\+0x", r"\nBreakpoint 1, hot_sort \(.*\n(.*\n)*x = \d+\n",
    ),
    "pgo": ("taken-branches",),
    "rr": ("\nreplayed\nreplayed\n",),
}


KERNEL_NEEDS = ("clang-19", "ld.lld-19", "llvm-profgen-19", "perf", "make", "bison", "flex", "bc")


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


def _run(text: str, place: Path, patterns: Sequence[str], **env: str) -> str:
    """Run the commands of a page or of a part of one. Result: what they print."""
    env["CASE"] = str(place)
    ended = run(["bash", "-c", "\n".join(["set -e", *COMMAND.findall(text)])], cwd=TOP, env=env)
    assert ended.status == 0
    for pattern in patterns:
        assert re.search(pattern, ended.said), f"nothing it prints is like '{pattern}'"
    return ended.said


@shows(lambda name: f"docs/case-{name}.md: its commands do what it says")
@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, tmp_path: Path) -> None:
    _run((TOP / f"docs/case-{name}.md").read_text(encoding="utf-8"), tmp_path, CASES[name])


def _linux(place: Path) -> str:
    """The folder of the source of Linux 7.3, of the Debian archive."""
    base = next(base for base in bases.linux_bases() if base.series == "7.3")
    archive.add_binaries(base.suite)
    good(["dpkg", "-x", archive.package(base.source), place])
    good(["tar", "-C", place, "-xf", place / f"usr/src/{base.source}.tar.xz"])
    return str(place / base.source)


# What perf stat says of an event: the mean of its repetitions, how far they are apart, in percent.
COUNTED = re.compile(r"^ +([0-9,]+) +(\S+):k +\( \+- +([0-9.]+)% \)$", re.MULTILINE)


@pytest.fixture
def kept(pytestconfig: pytest.Config, points: Points) -> Kept:
    """The results of --resume: the commands of the page count, too."""
    texts = ((TOP / f"docs/case-kernel-pgo.{end}").read_text(encoding="utf-8") for end in ("md", "config", "sh"))
    page, *others = texts
    return Kept(pytestconfig.getoption("--results"), points, "".join([*COMMAND.findall(page), *others]))


@pytest.mark.soak
def test_kernel_pgo(tmp_path: Path, kept: Kept, tell: Tell) -> None:
    """docs/case-kernel-pgo.md: a kernel that is built with its own profile executes fewer instructions and takes fewer
    branches. Five times the error of the repetitions does not explain that."""
    lacking = [name for name in KERNEL_NEEDS if not shutil.which(name)]
    if lacking:
        pytest.skip(f"there is no {', '.join(lacking)}: see clang-19, lld-19, llvm-19, linux-perf, bison, flex, bc")
    line = kept.stands(what := "linux clang")
    if not line:
        text = (TOP / "docs/case-kernel-pgo.md").read_text(encoding="utf-8")
        said = _run(text, tmp_path, (), LINUX=_linux(tmp_path / "source"))
        found = [(int(count.replace(",", "")), name, float(error)) for count, name, error in COUNTED.findall(said)]
        before, after = found[:2], found[2:]
        assert [name for _, name, _ in found] == ["instructions", "rc4"] * 2
        line = ", ".join(
            f"{old[1]} {old[0]} +-{old[2]}% to {new[0]} +-{new[2]}%: {new[0] / old[0] - 1:+.1%}"
            for old, new in zip(before, after, strict=True)
        )
        gained = all(
            new[0] * (1 + new[2] / 20) < old[0] * (1 - old[2] / 20) for old, new in zip(before, after, strict=True)
        )
        kept.add(what, "" if gained else "no gain", line)
        assert gained, line
    tell(line)


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
