# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests that are long work with: a log, a folder, and commands whose output goes there."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from lab.common import proc


class Check:
    """What a check works with: a log that is shown if it fails, and commands whose output goes there."""

    def __init__(self, log: IO[str], work: Path):
        self.log, self.work = log, work

    def say(self, *words: object) -> None:
        """A line into the log."""
        print(*words, file=self.log, flush=True)

    def want(self, condition: object, text: str) -> None:
        """The check fails, for the reason in the text, if the condition is false."""
        assert condition, text

    def call(self, argv: Sequence[proc.Word], **options: Any) -> int:
        """Run a command, its output into the log. Result: its exit status."""
        return proc.logged(argv, self.log, **options)

    def run(self, argv: Sequence[proc.Word], **options: Any) -> None:
        """Run a command that must succeed, its output into the log."""
        status = self.call(argv, **options)
        self.want(status == 0, f"{Path(str(argv[0])).name} ends with status {status}")

    def text(self, argv: Sequence[proc.Word], *, stderr: bool = False, **options: Any) -> tuple[int, str]:
        """Run a command. Result: its exit status and its output (stderr: with its errors), also in the log."""
        options.setdefault("stdin", subprocess.DEVNULL)
        errors = subprocess.STDOUT if stderr else self.log
        self.log.flush()
        child = proc.start(argv, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace", **options)
        try:
            out, _ = child.communicate()
        except BaseException:
            proc.end(child)
            raise
        status = proc.wait(child)
        self.say(f"{out}[status {status}]")
        return status, out
