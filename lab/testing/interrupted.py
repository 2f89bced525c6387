# SPDX-License-Identifier: GPL-2.0-or-later
"""The first Ctrl-C or SIGTERM goes to the program, and ./vlwp run reports its profile; the second ends the guest."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from lab.common import proc
from lab.common.places import TOP
from lab.common.report import Check, Report

LINE = "the first Ctrl-C keeps the profile, and the second ends"
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


def _serve(check: Check, server: Path, *words: str, command: str = "run", **stdio: Any) -> "subprocess.Popen[str]":
    """Start a server in a guest, in a process group of its own, and wait until it serves."""
    options = [f"--data={check.work}/data"] if command == "run" else []
    # Whatever started the tests may ignore SIGINT, as a shell has its background commands do.
    line: list[proc.Word] = ["env", "--default-signal=INT", TOP / "vlwp", command, *options, "--", server, *words]
    stdio = {"stdin": subprocess.DEVNULL, **stdio, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    child = proc.start(line, start_new_session=True, text=True, **stdio)
    assert child.stdout
    check.want(any("ready" in said for said in iter(child.stdout.readline, "")), "the server does not start")
    time.sleep(1)  # it serves for a while
    return child


def _end(check: Check, child: "subprocess.Popen[str]") -> tuple[int, str]:
    """How it ends, and what it says until then."""
    text, _ = child.communicate(timeout=PATIENCE)
    check.say(text)
    return proc.wait(child), text


def _profile_is_kept(check: Check, server: Path, number: signal.Signals, whole_group: bool) -> None:
    data = check.work / "data"
    data.unlink(missing_ok=True)
    child = _serve(check, server)
    (os.killpg if whole_group else os.kill)(child.pid, number)
    status, text = _end(check, child)
    check.want(status == 128 + number, f"status {status}, wanted {128 + number}")
    check.want(data.is_file() and data.stat().st_size > 1000, "no profile is kept")
    check.want("serve" in text and f"was ended by {number.name}" in text, "no report")
    # Ctrl-C is for all processes, SIGTERM for the program.
    check.want(("child\n" in text) == (number == signal.SIGINT), "the signal does not go where a terminal sends it")


def _second_ends(check: Check, server: Path) -> None:
    (check.work / "data").unlink(missing_ok=True)
    child = _serve(check, server, "deaf")
    os.killpg(child.pid, signal.SIGINT)
    time.sleep(1)  # less than half of it would be the same Ctrl-C
    check.want(child.poll() is None, "the first ends a program that ignores it")
    os.killpg(child.pid, signal.SIGINT)
    status, _ = _end(check, child)
    check.want(status == 130 and not (check.work / "data").exists(), f"status {status}")


def _past_input(check: Check, server: Path) -> None:
    flood = proc.start(["yes"], stdout=subprocess.PIPE)
    try:
        child = _serve(check, server, stdin=flood.stdout)
        os.kill(child.pid, signal.SIGINT)
        status, _ = _end(check, child)
    finally:
        proc.end(flood)
    check.want(status == 130, f"status {status}")


def _count_shows(check: Check, server: Path) -> None:
    child = _serve(check, server, command="count")
    os.killpg(child.pid, signal.SIGINT)
    status, text = _end(check, child)
    found = re.search(r"^all +(\d+)", text, re.MULTILINE)
    check.want(status == 130 and found and int(found[1]) > 100_000, f"status {status}, {found}")


def run(report: Report) -> None:
    """All of them."""
    source, server = report.work / "server.c", report.work / "server"
    source.write_text(SERVER, encoding="ascii")
    subprocess.run(["gcc", "-O1", source, "-o", server], check=True)
    report.check("run: Ctrl-C keeps the profile", _profile_is_kept, server, signal.SIGINT, True)
    report.check("run: SIGTERM keeps the profile", _profile_is_kept, server, signal.SIGTERM, False)
    report.check("run: the second Ctrl-C ends a program that ignores the first", _second_ends, server)
    report.check("count: Ctrl-C shows what was counted", _count_shows, server)
    report.check("run: Ctrl-C passes input that the program does not read", _past_input, server)
