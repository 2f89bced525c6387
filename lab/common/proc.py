# SPDX-License-Identifier: GPL-2.0-or-later
"""Child processes. Whatever ends this program also ends them: call() and start() register a child until
it has been waited for, and end_all() ends those that are left."""

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

Word = str | Path
PATIENCE = 10  # seconds between SIGTERM and SIGKILL

_user = dict(os.environ)  # as we got it: meson.fetch() changes PATH and PYTHONPATH for builds

_children: set["subprocess.Popen[Any]"] = set()
_lock = threading.RLock()
_over = False  # end_all() was called


class _Over(Exception):
    """A thread starts a child while the program ends."""


def words(argv: Sequence[Word]) -> list[str]:
    """The command line as strings."""
    return [str(word) for word in argv]


def quoted(argv: Sequence[Word]) -> str:
    """A command line as a shell takes it."""
    return shlex.join(words(argv))


def with_us(argv: Sequence[Word], ends: str = "KILL") -> list[str]:
    """A command line whose command gets a signal when the thread that starts it ends, however that ends."""
    return ["setpriv", "--pdeathsig", ends, "--", *words(argv)]


def environment(extra: Mapping[str, str] | None) -> dict[str, str] | None:
    """This program's environment with some more variables; None: unchanged."""
    return {**os.environ, **extra} if extra else None


def user_environment(more: Mapping[str, str]) -> dict[str, str]:
    """The user's own environment with some more variables."""
    return {**_user, **more}


def start(
    argv: Sequence[Word], *, env: Mapping[str, str] | None = None, as_user: bool = False, **options: Any
) -> "subprocess.Popen[Any]":
    """Start a child that end_all() ends; nothing starts after that. as_user: with the user's own environment, which
    guests get. Options are those of subprocess.Popen."""
    whole = user_environment(env or {}) if as_user else environment(env)
    with _lock:
        if _over:
            raise _Over(f"{argv[0]} is not started: the program ends")
        child = subprocess.Popen(words(argv), env=whole, **options)
        _children.add(child)
    return child


def wait(child: "subprocess.Popen[Any]", limit: float | None = None) -> int:
    """Wait for a child, which is ended after limit seconds (subprocess.TimeoutExpired). Result: its exit status, or 128
    and the number of the signal that killed it."""
    try:
        status: int = child.wait(limit)
    except BaseException:
        end(child)
        raise
    with _lock:
        _children.discard(child)
    return status if status >= 0 else 128 - status


def end(child: "subprocess.Popen[Any]", patience: float = PATIENCE) -> None:
    """End a child and wait until it is gone; patience: seconds between SIGTERM and SIGKILL."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    with _lock:
        _children.discard(child)


def end_all() -> None:
    """End every child that is still registered, for good."""
    global _over
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave children behind
    with _lock:
        _over = True
        left = list(_children)
    for child in left:
        end(child)


def call(
    argv: Sequence[Word],
    *,
    env: Mapping[str, str] | None = None,
    limit: float | None = None,
    **options: Any,
) -> int:
    """Run a command to its end. Result: as wait(); 124 when it did not end within limit seconds."""
    child = start(argv, env=env, **options)
    try:
        child.wait(limit)
    except subprocess.TimeoutExpired:
        end(child)
        return 124
    except BaseException:
        end(child)
        raise
    return wait(child)


def call_passing(argv: Sequence[Word], **options: Any) -> tuple[int, int]:
    """Run a command that gives the first SIGINT or SIGTERM to a program of its own, and ends at the second. Options are
    those of start(). Result: as wait(), and the first signal, 0 if there was none."""
    passed = [0]

    def give(number: int, _frame: FrameType | None) -> None:
        passed[0] = passed[0] or number
        child.send_signal(number)

    child = start(argv, **options)
    old = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number, handler in old.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, give)
        return wait(child), passed[0]
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def logged(argv: Sequence[Word], log: IO[str], **options: Any) -> int:
    """Run a command without input, with its output appended to a log. Result: as call()."""
    log.flush()
    options.setdefault("stdin", subprocess.DEVNULL)
    return call(argv, stdout=log, stderr=subprocess.STDOUT, **options)


def output(argv: Sequence[Word], *, env: Mapping[str, str] | None = None, **options: Any) -> str:
    """The standard output of a command that must not fail (subprocess.CalledProcessError if it does)."""
    options.setdefault("stdin", subprocess.DEVNULL)
    run = subprocess.run(words(argv), env=environment(env), check=True, stdout=subprocess.PIPE, text=True, **options)
    return str(run.stdout)


def _ended(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this program as an exception does, so that children are ended."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, _ended)
