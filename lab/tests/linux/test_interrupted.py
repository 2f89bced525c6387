# SPDX-License-Identifier: GPL-2.0-or-later
"""The first Ctrl-C or SIGTERM goes to the program, and ./vlwp run reports its profile; the second ends the guest."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from lab.common import proc
from lab.tests.linux.tools import VLWP, compiled

# A server that waits in a loop; "deaf" it ignores what would end it. It has a child, as a server often has.
SERVER = """#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile unsigned long turns;
__attribute__((noinline)) static void serve(void) { for (;;) turns++; }
static void child_ends(int number) { if (write(2, "child\\n", 6) == 6) _exit(0); }
int main(int argc, char **argv)
{
    signal(SIGINT, child_ends);
    if (argc > 1) { signal(SIGINT, SIG_IGN); signal(SIGTERM, SIG_IGN); }
    else if (!fork()) { for (;;) pause(); }
    else signal(SIGINT, SIG_DFL);
    fputs("ready\\n", stderr);
    serve();
}
"""
PATIENCE = 120


class Server:
    """One in a guest, in a process group of its own, that serves."""

    def __init__(self, work: Path, *words: str, command: str = "run", **stdio: Any):
        self.data = work / "data"
        options = [f"--data={self.data}"] if command == "run" else []
        server = compiled(work / "server.c", SERVER, "-O1")
        # Whatever started the tests may ignore SIGINT, as a shell has its background commands do.
        line: list[proc.Word] = ["env", "--default-signal=INT", VLWP, command, *options, "--", server, *words]
        stdio = {"stdin": subprocess.DEVNULL, **stdio, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.child = proc.start(line, start_new_session=True, text=True, **stdio)
        assert self.child.stdout
        assert any("ready" in said for said in iter(self.child.stdout.readline, "")), "the server does not start"
        time.sleep(1)  # it serves for a while

    def interrupt(self) -> None:
        """Ctrl-C, which all processes get."""
        os.killpg(self.child.pid, signal.SIGINT)

    def end(self) -> tuple[int, str]:
        """How it ends, and what it says until then."""
        text, _ = self.child.communicate(timeout=PATIENCE)
        print(text)
        return proc.wait(self.child), text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
def test_interrupted_run(number: signal.Signals, tmp_path: Path) -> None:
    """The first Ctrl-C or SIGTERM keeps the profile.

    Ctrl-C is for all processes, SIGTERM for the program."""
    server = Server(tmp_path)
    if number == signal.SIGINT:
        server.interrupt()
    else:
        server.child.send_signal(number)
    status, text = server.end()
    assert status == 128 + number
    assert server.data.is_file() and server.data.stat().st_size > 1000, "no profile is kept"
    assert "serve" in text and f"was ended by {number.name}" in text, "no report"
    assert ("child\n" in text) == (number == signal.SIGINT), "the signal does not go where a terminal sends it"


def test_interrupted_twice(tmp_path: Path) -> None:
    """The second Ctrl-C ends a program that ignores the first."""
    server = Server(tmp_path, "deaf")
    server.interrupt()
    time.sleep(1)  # less than half of it would be the same Ctrl-C
    assert server.child.poll() is None, "the first ends a program that ignores it"
    server.interrupt()
    assert server.end()[0] == 130 and not server.data.exists()


def test_interrupted_count(tmp_path: Path) -> None:
    """Ctrl-C shows what was counted."""
    server = Server(tmp_path, command="count")
    server.interrupt()
    status, text = server.end()
    found = re.search(r"^all +(\d+)", text, re.MULTILINE)
    assert status == 130 and found and int(found[1]) > 100_000


def test_interrupted_input(tmp_path: Path) -> None:
    """Ctrl-C passes input that the program does not read."""
    flood = proc.start(["yes"], stdout=subprocess.PIPE)
    try:
        server = Server(tmp_path, stdin=flood.stdout)
        server.child.send_signal(signal.SIGINT)
        assert server.end()[0] == 130
    finally:
        proc.end(flood)
