# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion for bash and zsh, and the man pages: each option that a program has is in them."""

import re
import shutil
from pathlib import Path

from lab.common import proc
from lab.common.places import HOST, LWPCTL, LWPRUN
from lab.common.report import Check

LINE = "completion for bash and zsh has the options of --help, and so have the man pages"
WORDS = HOST / "host-tools/words"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def _commands() -> list[str]:
    """Of lwpctl."""
    text = proc.output([LWPCTL, "--help"])
    return re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)


def _options(*program: str | Path) -> set[str]:
    """Every option in the list that --help prints."""
    lines = proc.output([*program, "--help"]).splitlines()
    found = [OPTION.findall(line[:29]) for line in lines if re.match(r" +-", line)]
    return {option for options in found for option in options}


# The options of all commands that read a profile stand in the section of the first.
COMMON = "These options are also those of the other commands that read a profile:"


def _man(check: Check) -> None:
    """Each option stands in the section of its command."""
    texts = {name: (WORDS / f"{name}.1").read_text(encoding="utf-8") for name in ("lwprun", "lwpctl")}
    pages = {name: text.replace("\\-", "-") for name, text in texts.items()}
    common = pages["lwpctl"].partition(COMMON)[2].partition(".SS ")[0]
    found = {"lwprun": (pages["lwprun"], _options(LWPRUN))}
    for command in _commands():
        section = pages["lwpctl"].partition(f".SS lwpctl {command}\n")[2].partition("\n.S")[0]
        found[command] = section + common, _options(LWPCTL, command)
    for name, (text, options) in found.items():
        missing = options - set(OPTION.findall(text)) - {"--help", "--usage", "--version"}
        check.want(not missing, f"{name}: the man page has no {sorted(missing)}")


# $0: the completion; then the words of a command line, the last of which is not finished.
BASH = '''source "$0"; compopt() { :; }; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"_${1##*/}" "$1"; printf "%s\\n" "${COMPREPLY[@]}"'''


def _completed(program: Path, *words: str) -> set[str]:
    """How bash would go on."""
    lines = proc.output(["bash", "-c", BASH, WORDS / program.name, program, *words]).splitlines()
    return {line.removesuffix("=") for line in lines}


def check(check: Check) -> None:
    """Of both programs, in both shells."""
    programs: list[tuple[Path, list[str]]] = [(LWPRUN, []), *((LWPCTL, [command]) for command in _commands())]
    for program, words in programs:
        options, found = _options(program, *words), _completed(program, *words, "-")
        check.want(len(options) > 3 and options == found, f"{program.name} {words}: {sorted(options ^ found)}")
    for found, wanted in (
        (_completed(LWPCTL, ""), {*_commands(), "--help", "--version"}),
        (_completed(LWPRUN, "--event", "=", "ins"), {"instructions"}),
        (_completed(LWPCTL, "report", "-e", "ins"), {"instructions", "inserted"}),
        (_completed(LWPCTL, "report", "--format", "=", "j"), {"json"}),
        (_completed(LWPCTL, "export", "--format", "=", "perfc"), {"perfcalls"}),
        (_completed(LWPCTL, "report", "--wide", "/dev/nul"), {"/dev/null"}),
    ):
        check.want(found == wanted, f"{sorted(found)}, not {sorted(wanted)}")
    for name in ("_lwprun", "_lwpctl") if shutil.which("zsh") else ():
        check.run(["zsh", "-n", WORDS / name])
    _man(check)
