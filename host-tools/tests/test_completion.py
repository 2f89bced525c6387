# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion for bash and zsh, and the man pages: each option that a program has is in them."""

import re
from pathlib import Path

import pytest

from lab.common.places import HOST, LWPCTL, LWPRUN
from lab.tests.conftest import good
from sample import needs

WORDS = HOST / "host-tools/words"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# The options of all commands that read a profile stand in the section of the first.
COMMON = "These options are also those of the other commands that read a profile:"
# $0: the completion; then the words of a command line, the last of which is not finished.
BASH = '''source "$0"; compopt() { :; }; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"_${1##*/}" "$1"; printf "%s\\n" "${COMPREPLY[@]}"'''

pytestmark = pytest.mark.usefixtures("tools_built")


def _commands() -> list[str]:
    """Of lwpctl."""
    return re.findall(r"^  ([a-z]+) ", good([LWPCTL, "--help"]), re.MULTILINE)


def _options(*program: str | Path) -> set[str]:
    """Every option in the list that --help prints."""
    lines = good([*program, "--help"]).splitlines()
    return {option for line in lines if re.match(r" +-", line) for option in OPTION.findall(line[:29])}


def _completed(program: Path, *words: str) -> set[str]:
    """How bash would go on."""
    lines = good(["bash", "-c", BASH, WORDS / program.name, program, *words]).splitlines()
    return {line.removesuffix("=") for line in lines}


def test_completion_has_the_options() -> None:
    """Of both programs, those of --help."""
    programs: list[tuple[Path, list[str]]] = [(LWPRUN, []), *((LWPCTL, [command]) for command in _commands())]
    for program, words in programs:
        options = _options(program, *words)
        assert len(options) > 3 and options == _completed(program, *words, "-"), f"{program.name} {words}"


def test_completion_of_values() -> None:
    """Commands, events, formats, files."""
    assert _completed(LWPCTL, "") == {*_commands(), "--help", "--version"}
    assert _completed(LWPRUN, "--event", "=", "ins") == {"instructions"}
    assert _completed(LWPCTL, "report", "-e", "ins") == {"instructions", "inserted"}
    assert _completed(LWPCTL, "report", "--format", "=", "j") == {"json"}
    assert _completed(LWPCTL, "export", "--format", "=", "perfc") == {"perfcalls"}
    assert _completed(LWPCTL, "caps", "--format", "=", "n") == {"nova", "nfd"}
    assert _completed(LWPCTL, "report", "--wide", "/dev/nul") == {"/dev/null"}


def test_completion_for_zsh() -> None:
    """It can be read."""
    for name in ("_lwprun", "_lwpctl"):
        good([needs("zsh"), "-n", WORDS / name])


def test_man_pages_have_the_options() -> None:
    """Each option stands in the section of its command."""
    texts = {name: (WORDS / f"{name}.1").read_text(encoding="utf-8") for name in ("lwprun", "lwpctl")}
    pages = {name: text.replace("\\-", "-") for name, text in texts.items()}
    common = pages["lwpctl"].partition(COMMON)[2].partition(".SS ")[0]
    found = {"lwprun": (pages["lwprun"], _options(LWPRUN))}
    for command in _commands():
        section = pages["lwpctl"].partition(f".SS lwpctl {command}\n")[2].partition("\n.S")[0]
        found[command] = section + common, _options(LWPCTL, command)
    for name, (text, options) in found.items():
        assert not options - set(OPTION.findall(text)) - {"--help", "--usage", "--version"}, name
