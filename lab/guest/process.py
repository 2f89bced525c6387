# SPDX-License-Identifier: GPL-2.0-or-later
"""A program in a process: qemu-x86_64 with count-1's processor, as far as a program sees it. There is no guest, so the
program sees this machine's kernel, and a number is for a quick look: docs/process.md."""

import os
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from lab.common import places, proc
from lab.common.say import Died, say
from lab.guest import count1

# Of count-1's processor, what only a kernel uses, and what user mode of TCG has not.
WITHOUT = {"pmu", "perfctr-core", "perfmon-v2", "amd-lbr-v2", "amd-lbr-pmc-freeze", "ibs", "ibs-cache", "lwp-dme"}
CPU = ",".join([
    "base,vendor=AuthenticAMD,family=23,model=1,stepping=2,model-id=count-1,phys-bits=40,level=13,xlevel=0x8000001c",
    *(f"{name}=on" for name in count1.FEATURES if name not in WITHOUT), "enforce",
])
EVENTS = ("instructions", "branches")
# The file of -count, qemu-patches/user/user-count.h.
HEAD, ROW, ROWS = struct.Struct("<8sI36x"), struct.Struct("<QQ4I16s"), 65536
MAGIC = b"vlwpcnt1"
BUDGET = 65535  # instructions, the most that a killed thread lacks


class End(IntEnum):
    """Why a thread counts no more: enum X86UserEnd."""

    RUNS = 0
    EXITED = 1
    PROCESS = 2
    EXEC = 3


@dataclass(frozen=True)
class Row:
    """A thread while it ran one program."""

    counts: Mapping[str, int]
    process: int
    tid: int
    end: End
    name: str


@dataclass(frozen=True)
class Counts:
    """What a run has counted."""

    rows: Sequence[Row]
    left_out: int  # threads for which the file had no row

    @property
    def threads(self) -> int:
        """How many there were; one that runs a new program is the same."""
        return len({(row.process, row.tid) for row in self.rows})


def read(data: bytes) -> Counts:
    """The file of -count."""
    if len(data) < HEAD.size or not data.startswith(MAGIC):
        raise Died("this is no file of -count")
    rows = HEAD.unpack_from(data)[1]
    return Counts([_row(data, HEAD.size + n * ROW.size) for n in range(min(rows, ROWS))], max(0, rows - ROWS))


def _row(data: bytes, at: int) -> Row:
    insns, branches, pid, tid, _, end, name = ROW.unpack_from(data, at)
    text = name.partition(b"\0")[0].decode(errors="replace")
    return Row(dict(zip(EVENTS, (insns, branches))), pid, tid, End(end), text)


def program(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """A command whose program is named by its path."""
    found = words[0] if "/" in words[0] else shutil.which(words[0], path=environment["PATH"])
    if not found:
        raise Died(f"{words[0]}: this is not in the PATH of the process: give its path, or --env=PATH")
    return [found, *words[1:]]


def command(words: Sequence[str], messages: Path, *options: proc.Word) -> list[str]:
    """The command line of the emulator, whose own messages go into a file; words: as program() has them."""
    emulator: list[proc.Word] = [places.qemu_user(), "-cpu", CPU, "-exec", "-messages", messages, *options]
    return proc.words([*emulator, "--", *words])


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """That of count-1, and more variables."""
    return {**count1.ENVIRONMENT, **variables}


def alone(variables: Mapping[str, str], argv: Sequence[proc.Word]) -> list[str]:
    """A command with no other variables than these."""
    return proc.words(["env", "-i", *(f"{name}={value}" for name, value in variables.items()), *argv])


def tell(messages: Path) -> None:
    """Say what the emulator has said."""
    if messages.is_file():
        for line in messages.read_text(encoding="utf-8", errors="replace").splitlines():
            say(line)
        messages.unlink()


@dataclass(frozen=True)
class Ended:
    """How a run ended: the program's status, a signal that was passed on or 0, programs that still ran."""

    status: int
    passed: int
    counts: Counts
    running: int


def run(
    words: Sequence[str], variables: Mapping[str, str], place: Path, given: Path | None, silent: bool
) -> Ended:
    """Count a program in a private directory. given: its standard input, or None: this one's; silent: what it prints is
    not shown. The first SIGINT or SIGTERM is the program's."""
    file, messages = place / "counts", place / "messages"
    file.unlink(missing_ok=True)
    argv = command(words, messages, "-steady", "-count", file)
    options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} if silent else {}
    with ExitStack() as stack:
        if given:
            options["stdin"] = stack.enter_context(given.open("rb"))
        status, passed = proc.call_passing(alone(variables, argv), **options)
    tell(messages)
    if not file.is_file():
        raise Died("nothing was counted: the program did not start")
    running = end_running(read(file.read_bytes()).rows)
    return Ended(status, passed, read(file.read_bytes()), running)


def seen() -> str:
    """What a number depends on."""
    return f"in a process that sees Linux {os.uname().release}, this machine's files, clock and process numbers; seed 1"


def not_repeatable(counts: Counts) -> str:
    """What is to be said of a number that another run need not give; "": nothing is known."""
    if counts.threads < 2:
        return ""
    return f"not repeatable: {counts.threads} threads; {count1.NAME} repeats them: leave out --process"


def _running(rows: Sequence[Row]) -> Iterator[int]:
    """Processes that still run the emulator."""
    for pid in sorted({row.process for row in rows if row.end == End.RUNS}):
        try:
            if os.readlink(f"/proc/{pid}/exe") == str(places.qemu_user()):
                yield pid
        except OSError:
            pass


def end_running(rows: Sequence[Row]) -> int:
    """End what still runs when the first program has ended. Result: how many there were."""
    left = list(_running(rows))
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return len(left)
