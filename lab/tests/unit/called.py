# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines, a list of words each, as JSON on standard input: each is carried out in a process of its own, which
begins after the start of Python. Prints a list: exit status and output of each."""

import importlib
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

sys.path[0] = str(Path(__file__).resolve().parents[3])

from lab.commands import COMMANDS  # noqa: E402  (the path must be set first)
from lab.dispatch import main  # noqa: E402


def _carry_out(words: list[str], out: int) -> NoReturn:
    status = 1
    try:
        for stream in (1, 2):
            os.dup2(out, stream)
        status = main(words)
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def called(words: list[str]) -> tuple[int, str]:
    """The exit status and the output of a command line."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            _carry_out(words, file.fileno())
        _, status = os.waitpid(child, 0)
        file.seek(0)
        return os.waitstatus_to_exitcode(status), file.read().decode(errors="replace")


if __name__ == "__main__":
    LINES = json.load(sys.stdin)
    for command in COMMANDS:
        for part in command.parts or (command,):
            importlib.import_module(part.module)
    json.dump([called(words) for words in LINES], sys.stdout)
