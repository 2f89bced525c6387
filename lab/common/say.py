# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages to the user, and the ways in which a command ends early. Exit status: 0 done, 1 failed,
2 usage, 77 skipped because this machine lacks something."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import SkipTest

SKIPPED = 77
SILENCE = 60.0  # seconds without a message after which what is running is told


class Stop(Exception):
    """A command ends now, with one line for the user."""

    status = 1


class Died(Stop):
    """What was asked for failed: the text says what, where, and what to do."""


class Usage(Stop):
    """The user's words are wrong."""

    status = 2


class Skip(Stop, SkipTest):
    """This machine lacks something, which the text names. pytest skips a test that says so."""

    status = SKIPPED


_told = time.monotonic()
_running: dict[object, Callable[[], str]] = {}  # the thread that does it, how to call it; the newest last
_beating: list[threading.Thread] = []


def told() -> None:
    """Something was printed for the user."""
    global _told
    _told = time.monotonic()


def printable(text: str) -> str:
    """Without what a terminal would act on, as in the names of files: as lwpctl prints it."""
    escaped = ("".join(f"\\x{byte:02x}" for byte in os.fsencode(c)) for c in text)
    return "".join(c if c.isprintable() else other for c, other in zip(text, escaped))


def say(text: str) -> None:
    """One line for the user, on standard error."""
    told()
    print(f"vlwp: {printable(text)}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Seconds for people."""
    whole = int(seconds + 0.5)
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60} s"


@contextmanager
def alive(title: str, far: Callable[[], str] = lambda: "") -> Iterator[None]:
    """What the with block does, and how far it is, is told after each minute of silence, whatever it is waiting for.
    Within another such block of the thread only this one is told."""
    begin, thread = time.monotonic(), threading.get_ident()
    outer = _running.get(thread)
    _running[thread] = lambda: ", ".join(filter(None, [f"{title}: {duration(time.monotonic() - begin)}", far()]))
    if not _beating:
        _beating.append(threading.Thread(target=_beat, daemon=True))
        _beating[0].start()
    try:
        yield
    finally:
        del _running[thread]
        if outer:
            _running[thread] = outer


def due(now: float) -> str:
    """What is to be told at this time; off a terminal, where nothing else shows that something happens."""
    silent = now - _told < SILENCE or sys.stderr.isatty()
    return "" if silent else "; ".join(text() for text in list(_running.values())[:3])


def _beat() -> None:
    while True:
        text = due(time.monotonic())
        if text:
            say(text)
        time.sleep(SILENCE / 20)
