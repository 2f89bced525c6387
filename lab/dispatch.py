# SPDX-License-Identifier: GPL-2.0-or-later
"""From the user's words to a command: help texts, options, exit status. Every command and every part of one
answers --help here, and nothing has been started by then."""

import argparse
import difflib
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from lab.commands import OFFERED, Command, find
from lab.common import bases, proc
from lab.common.places import RELEASE
from lab.common.say import Stop, Usage, say
from lab.common.steps import jobs_count

OPTION = re.compile(r"--[a-z][a-z-]+")
WIDTH = 27  # columns before the summaries

OVERVIEW_END = """
  ./vlwp COMMAND --help      its options; ./vlwp help bench, ./vlwp help soak

VLWP_BUILD_DIR=DIR builds in DIR instead of ./build; VLWP_JOBS=N sets the
number of compilers. Start with README.md.
exit status: 0 done, 1 failed, 2 usage, 77 skipped: something is missing"""

RELEASE_END = """
  ./vlwp COMMAND --help      its options; ./lwpctl --help, for what run --data has kept

Images of programs' files are kept in ~/.cache/vlwp (XDG_CACHE_HOME says where else)."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Usage(f"{self.prog.removeprefix('./vlwp ')}: {message}; --help lists its options")


def overview() -> str:
    """What ./vlwp help prints; it fits a screen of 80 columns and 30 lines."""
    lines = ["usage: ./vlwp COMMAND [...]", ""]
    for command in OFFERED:
        names = command.words or ("|".join(p.name for p in command.parts) if len(command.parts) < 3 else "NAME")
        words = f"{command.name} {names}" if command.words or command.parts else command.name
        lines.append(f"  {words:<{WIDTH}}{command.summary}")
    return "\n".join(lines) + "\n" + (RELEASE_END if RELEASE else OVERVIEW_END)


def parts_of(command: Command) -> str:
    """What help prints of a command that has parts."""
    lines = [f"usage: ./vlwp {command.name} NAME [...]", f"{command.summary}; --help after NAME lists its options", ""]
    lines += [f"  {part.name:<14} {part.summary}" for part in command.parts]
    return "\n".join(lines)


def _split(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """The words before and after the first "--"; None: there is no "--"."""
    words = list(argv)
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1:]


def _near(word: str, names: Iterable[str]) -> str:
    """Words that ask for the one of `names` that a mistyped word resembles; empty without one."""
    found = difflib.get_close_matches(word, names, 1, 0.7)
    return f"; is it {found[0]}?" if found else ""


def _call(name: str, command: Command, argv: Sequence[str]) -> int:
    module = importlib.import_module(command.module)
    parser = _Parser(
        prog=f"./vlwp {name}",
        description=(module.__doc__ or command.summary),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if hasattr(module, "add_options"):
        module.add_options(parser)
    takes_base = getattr(module, "TAKES_BASE", False)
    if takes_base:
        text = f"kernel and QEMU to build, of: {', '.join(bases.names())}"
        parser.add_argument("--base", metavar="BASES", default="", help=text)
    words, program = _split(argv)
    takes_program = getattr(module, "TAKES_PROGRAM", "")
    if takes_program:
        parser.usage = f"./vlwp {name} [OPTION...] [-- {takes_program.upper()} ARG...]"
    args, extra = parser.parse_known_intermixed_args(words)
    if extra:
        behind = f"; the {takes_program} goes after --" if takes_program else "; --help lists what it takes"
        kind = "option" if extra[0].startswith("-") else "argument"
        near = _near(extra[0].partition("=")[0], OPTION.findall(parser.format_help())) if kind == "option" else ""
        raise Usage(f"{name}: no {kind} '{extra[0]}'{near or behind}")
    if program is not None and not takes_program:
        raise Usage(f"{name}: nothing goes after --")
    if program == []:
        raise Usage(f"{name}: no {takes_program} after --")
    args.program, args.name = program or [], command.name
    for choice in [*bases.WRONG, *([args.base] if takes_base and args.base else [])]:
        bases.check(choice)
    jobs_count()  # a wrong VLWP_JOBS ends everything here
    return int(module.main(args) or 0)


def _help(argv: Sequence[str]) -> int:
    if not argv:
        print(overview())
        return 0
    return _find_and_call([*argv, "--help"])


def _find_and_call(argv: Sequence[str]) -> int:
    command = find(argv[0])
    if not command:
        near = _near(argv[0], [one.name for one in OFFERED])
        raise Usage(f"no command '{argv[0]}'" + (near or "; './vlwp help' lists the commands"))
    if not command.parts:
        return _call(command.name, command, argv[1:])
    if len(argv) > 1 and argv[1] in ("-h", "--help"):
        print(parts_of(command))
        return 0
    part = command.part(argv[1]) if len(argv) > 1 else None
    if not part:
        word, names = argv[1] if len(argv) > 1 else "", [one.name for one in command.parts]
        raise Usage(f"{command.name}: no part '{word}'{_near(word, names) or '; it has: ' + ' '.join(names)}")
    return _call(f"{command.name} {part.name}", part, argv[2:])


def main(argv: Sequence[str]) -> int:
    """Carry out a command line. Result: the exit status."""
    proc.end_on_signals()
    try:
        if not argv:
            print(overview(), file=sys.stderr)
            return 2
        try:
            return _help(argv[1:]) if argv[0] in ("help", "-h", "--help") else _find_and_call(argv)
        finally:
            sys.stdout.flush()  # here, where a closed pipe and a full disk are told
    except Stop as stop:
        say(f"skipped: {stop}" if stop.status == 77 else str(stop))
        return stop.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more when it ends
        return 1
    except (OSError, subprocess.SubprocessError) as err:
        say(str(err))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    finally:
        proc.end_all()
