# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests report: one line a check on standard output, the sums, and the logs of what failed."""

import re
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from lab.common import proc
from lab.common.places import LOG
from lab.common.say import Stop, alive, told
from lab.common.steps import make_dir

SHOWN = 25  # lines of a failed check's log
CLOSING = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")


class Failure(Exception):
    """A check has failed; the text says how."""


class Check:
    """What a check works with: a log that is shown if it fails, and commands whose output goes there."""

    def __init__(self, log: IO[str], work: Path):
        self.log, self.work = log, work

    def say(self, *words: object) -> None:
        """A line into the log."""
        print(*words, file=self.log, flush=True)

    def want(self, condition: object, text: str) -> None:
        """The check fails, for the reason in the text, if the condition is false."""
        if not condition:
            raise Failure(text)

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


class Report:
    """The sums of a part of the test. Checks may report from several threads."""

    def __init__(self, work: Path):
        self.work = work  # a private directory of the part
        self.passed = self.failed = self.skipped = 0
        self._lock = threading.RLock()

    def line(self, text: str, indent: int = 0) -> None:
        """A line for the reader that is no result."""
        with self._lock:
            told()
            print(" " * indent + text, flush=True)

    def ok(self, name: str) -> None:
        """A check has passed."""
        self.add(1, 0, 0)
        self.line(f"ok      {name}")

    def not_ok(self, name: str, lines: Iterable[str] = ()) -> None:
        """A check has failed; the lines say more."""
        with self._lock:
            self.add(0, 1, 0)
            self.line(f"FAILED  {name}")
            for line in lines:
                self.line(line, 8)

    def skip(self, name: str) -> None:
        """A check was skipped; the name says what is missing."""
        self.add(0, 0, 1)
        self.line(f"skipped {name}")

    def add(self, passed: int, failed: int, skipped: int) -> None:
        """Results of a program that counts for itself."""
        with self._lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped

    def add_closing(self, text: str, name: str) -> bool:
        """Take the last "N passed, N failed, N skipped" in a program's output. Result: is there one?"""
        found = CLOSING.findall(text)
        if not found:
            self.not_ok(f"{name} ended early", text.splitlines()[-10:])
            return False
        self.add(*(int(number) for number in found[-1]))
        return True

    def check(self, name: str, function: Callable[..., object], *args: Any) -> bool:
        """One check: function(Check, *args), which fails by returning False or by raising Failure. The end of
        its log is shown when it fails. Result: has it passed?"""
        make_dir(LOG)
        path = log_of(name)
        with path.open("w", encoding="utf-8", errors="replace") as log, alive(name):
            try:
                passed = function(Check(log, self.work), *args) is not False
            except (Failure, Stop, OSError, subprocess.SubprocessError) as err:
                print(err, file=log)
                passed = False
            except Exception:  # pylint: disable=broad-exception-caught
                traceback.print_exc(file=log)  # such as JSON that cannot be read
                passed = False
        if passed:
            self.ok(name)
        else:
            self.not_ok(f"{name} (all output in {path})", tail(path))
        return passed

    def closing(self) -> str:
        """The sums in the form of the last line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def end(self) -> int:
        """Print the sums. Result: the exit status."""
        print(self.closing(), flush=True)
        return int(self.failed != 0)


def log_of(name: str) -> Path:
    """Where the output of a check goes."""
    return LOG / ("check-" + re.sub(r"[^a-zA-Z0-9]", "-", name)[:120])


def tail(path: Path, count: int = SHOWN) -> list[str]:
    """The last lines of a file."""
    return path.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
