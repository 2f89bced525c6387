# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree's own files: licences, style, types, citations, layers, lists of mutants."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from lab.checks import citations, coverage, layers
from lab.checks.sources import files, text
from lab.common import proc
from lab.common.places import PYTHON, TOP
from lab.mutants import checks
from lab.tests.conftest import good, run
from lab.tests.plugin import Tell

LICENCE = re.compile(r"SPDX-License-Identifier: (.*?)\s*(\*/)?$", re.MULTILINE)
DEFAULT_LICENCE = "GPL-2.0-or-later"
# Files for other people's programs, and the kernel's interface to user space.
OTHER_LICENCES = {
    "guest-tools/lwp.h": "MIT",
    "guest-tools/liblwp/*": "MIT",
    "guest-tools/examples/*": "MIT",
    "lwp_kvm.h": "GPL-2.0-or-later WITH Linux-syscall-note",
}
FLAT_RUNNER = "guest-tests/flat/runner"  # without the lab
KIT = "kvm/kit"  # the same
HOST_TOOLS = "host-tools/tests"
OTHERS = re.compile(r"^LICENSES/|^lab/results/|/corpus/|\.(png|svg)$")  # what has no lines of ours
# Of a commit.
SUBJECT, BODY, LINES = 72, 20, 400
SIZE = re.compile(r"^(\d+|-)\t(\d+|-)\t(.*)\n", re.MULTILINE)
LOG = ("-M", "--numstat", "--format=%x00%h%x01%s%x01%b")
IDIOM = re.compile(r"\b(?:of before|by lot|as ever|anew)\b")
SHELL_LINES = 150  # of a shell script, at most
SHELL_LINES_LAB = 2500  # of all shell in lab/, at most


def commit_faults(text: str) -> list[str]:
    """What CONTRIBUTING.md does not want of commits: as git log --numstat --format=%x00%h%x01%s%x01%b prints them."""
    found = []
    for commit in text.split("\0")[1:]:
        name, subject, rest = commit.split("\1")
        sizes = SIZE.findall(rest)
        body = SIZE.sub("", rest).strip()
        lines = sum(int(added) for added, _, file in sizes if added != "-" and not OTHERS.search(file))
        changed = sum(int(n) for *numbers, _ in sizes for n in numbers if n != "-")
        found += [f"{name}: the subject has {len(subject)} columns, more than {SUBJECT}"] * (len(subject) > SUBJECT)
        found += [f"{name}: {changed} lines change, and no body says why"] * (changed > BODY and not body)
        found += [f"{name}: {lines} lines are added, more than {LINES} are hard to read"] * (lines > LINES)
    return found


def test_commits(tell: Tell) -> None:
    """The last commits are small and say why; what is not so is told, since history cannot be changed."""
    text = f"\0a\1{'s' * 73}\1\n\n21\t0\tx.c\n\0b\1s\1why\n\n401\t0\tx.c\n500\t0\tLICENSES/x\n-\t-\tp.png\n"
    assert [fault.split(":")[0] for fault in commit_faults(text)] == ["a", "a", "b"]
    for fault in commit_faults(proc.output(["git", "-C", TOP, "log", "-n", "20", *LOG])):
        tell(fault)


def test_durations() -> None:
    """The seconds of parts in docs/testing.md are those that the last whole test wrote."""
    seconds = dict(re.findall(r"^(\w+) .* (\d+) s$", text("lab/results/parts"), re.MULTILINE))
    rows = re.findall(r"\| `test (\w+)`(?!.*of these).* (\d+) \|$", text("docs/testing.md"), re.MULTILINE)
    assert len(rows) > 4
    assert [(name, number) for name, number in rows if name != "unit" and seconds[name] != number] == []


def test_licences() -> None:
    """Every source file says its licence in its first three lines."""
    for name in files("*.c", "*.h", "*.S", "*.sh", "*.py", "*meson.build", "lab/*", "vlwp"):
        if not name.endswith((".md", ".txt")):
            found = LICENCE.search("\n".join(text(name).splitlines()[:3]))
            wanted = (licence for end, licence in OTHER_LICENCES.items() if fnmatchcase(name, f"*{end}"))
            assert found and found[1].strip() == next(wanted, DEFAULT_LICENCE), name


def test_version() -> None:
    """VERSION is what the changelogs of the repository and of Debian's packages begin with."""
    version = text("VERSION").strip()
    assert re.findall(r"^## \[([^]]+)\]", text("CHANGELOG.md"), re.MULTILINE)[0] == version
    assert text("debian/changelog").startswith(f"vlwp ({version}-")


def test_prose() -> None:
    """Words that are no English in the place where they stood here: say "old", "at random", "as usual", "again"."""
    for name in files("*.md", "*.c", "*.h", "*.inc", "*.py", "*.list", "*.in", ":!CHANGELOG.md", ":!lab/tests/unit"):
        if not OTHERS.search(name):
            assert not IDIOM.findall(text(name)), name


def _lines(*patterns: str) -> int:
    """Of text that is written by hand."""
    names = [name for name in files(*patterns) if not OTHERS.search(name)]
    made = sum(text(name).partition(coverage.BEGIN)[2].count("\n") for name in names if name == citations.COVERAGE)
    return sum((TOP / name).read_bytes().count(b"\n") for name in names) - made


def test_lines() -> None:
    """The tree has no more lines than lab/lines.max allows."""
    limits = dict(line.split() for line in text("lab/lines.max").splitlines() if not line.startswith("#"))
    now = {"tree": _lines(), "lab": _lines("lab", ":!*.list")}
    print(now)
    assert limits.keys() == now.keys()
    assert all(now[name] <= int(limits[name]) for name in now)


ELSEWHERE = (":!qemu-patches", ":!kvm/engine/tcg/x86_cache.[ch]", ":!kvm/selftests")  # with the style of other sources


def test_style() -> None:
    """The tree follows .clang-format. What clang-format 14 makes of it is the rule; other versions differ in details.
    The style of what goes into other sources is judged by their checkpatch."""
    names = ("clang-format-14", "clang-format")
    able = [name for name in names if "version 14." in run(["sh", "-c", f"{name} --version"]).out]
    if not able:
        pytest.skip("needs clang-format 14")
    good([able[0], "--dry-run", "--Werror", *files("*.c", "*.h", *ELSEWHERE)], cwd=TOP)


def _scripts() -> list[str]:
    places = files("vlwp", ".ci/run", "lab", "guest-tests", "host-tools", "kvm/dkms", "docs")
    heads = ("#!/bin/bash", "#!/bin/sh", "# shellcheck shell=")
    return [name for name in places if name.endswith(".sh") or text(name).startswith(heads)]


def test_shell() -> None:
    """The scripts are clean for bash and shellcheck, and short."""
    scripts = _scripts()
    for name in scripts:
        good(["bash", "-n", TOP / name])
    good(["shellcheck", "-x", "-S", "warning", "-P", "SCRIPTDIR", *scripts], cwd=TOP)
    lines = {name: len(text(name).splitlines()) for name in scripts if name.startswith("lab/")}
    assert max(lines.values()) <= SHELL_LINES and sum(lines.values()) <= SHELL_LINES_LAB


def test_python(tmp_path: Path) -> None:
    """All Python is typed and has nothing that the linter finds."""
    mypy: list[proc.Word] = ["mypy", "--strict", "--python-executable", PYTHON, "--cache-dir", tmp_path / "mypy"]
    runner, kit, tools = (sorted((TOP / folder).glob("*.py")) for folder in (FLAT_RUNNER, KIT, HOST_TOOLS))
    good([*mypy, *runner, *kit], cwd=TOP)
    good([*mypy, "-p", "lab"], cwd=TOP, env={"MYPYPATH": f"{FLAT_RUNNER}:{KIT}"})
    good([*mypy, *tools], cwd=TOP, env={"MYPYPATH": f"{FLAT_RUNNER}:{KIT}:{HOST_TOOLS}"})
    good(["flake8", "--max-line-length=120", "lab", *runner, *kit, *tools], cwd=TOP)


def test_citations() -> None:
    """Every citation and every test name in docs/ exists, and every rule is cited by code and a test."""
    tree = citations.Tree(TOP)
    assert citations.problems(tree) + [*coverage.problems(tree, citations.rules(tree)[0])] == []


def test_layers() -> None:
    """Calls go down only: in kvm/svm, from folder to folder, in the lab."""
    assert layers.problems(TOP) == []


def test_mutants_fit() -> None:
    """Every mutant still applies."""
    assert checks.problems(TOP) == []


def test_mutants() -> None:
    """One of sixty mutants of the shared code turns its test red."""
    good([TOP / "vlwp", "soak", "mutants", "--share=60"])
