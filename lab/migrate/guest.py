# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux guest whose init is guest-tests/migrate/live_guest.c: starting it, and what its threads say on the serial
port, which continues in the next process when the guest is migrated."""

import os
import re
import select
from collections import Counter
from pathlib import Path

from lab.common import places, proc
from lab.common.qmp import PATIENCE, Vm
from lab.guest.vm import kernel_args
from lab.migrate.machines import INITRD, Task

PROCESSES, THREADS = 4, 2
ROUND = re.compile(r"(\d+)\.(\d+) (\d+) (.+)")


class Port:
    """The lines that machines write to one serial port, one machine after the other."""

    def __init__(self) -> None:
        self.begun = b""  # of a line

    def take(self, data: bytes) -> list[str]:
        """What comes next. Result: the lines that it ends, without CR and LF."""
        *lines, self.begun = (self.begun + data).split(b"\n")
        return [line.rstrip(b"\r").decode(errors="replace") for line in lines]

    def booted(self) -> None:
        """The rest of a line that the predecessor of a machine that was just booted has begun does not come."""
        self.begun = b""


class Guest:
    """What all processes of the guest have said here."""

    def __init__(self, task: Task):
        self.task, self.port = task, Port()
        self.here, self.there = os.pipe()
        os.set_inheritable(self.here, False)
        self.said: Counter[tuple[int, int]] = Counter()  # rounds of each thread
        self.rounds = self.wrong = 0

    def start(self, name: str, qemu: Path, cpu: str = "+lwp", init: str = "", incoming: bool = False) -> Vm:
        """A process. cpu: properties after the model; init: its arguments."""
        if not incoming:
            self.hear_the_rest()
            self.port.booted()
        accel = "tcg,thread=multi" if self.task.accel == "tcg" else self.task.accel
        argv: list[proc.Word] = [
            *(qemu, "-L", places.FIRMWARE, "-accel", accel, "-machine", self.task.kind or "q35"),
            *("-cpu", f"EPYC,{cpu}", "-smp", "2", "-m", "256", "-nodefaults", "-no-user-config"),
            *("-display", "none", "-serial", "stdio", "-kernel", places.GUEST / "vmlinux", "-initrd", INITRD),
            *("-append", f"{kernel_args()} loglevel=3 -- {init}", *(("-incoming", "defer") if incoming else ())),
        ]
        return Vm(argv, self.task.work / f"{name}.log", Path(f"/proc/self/fd/{self.there}"))

    def _line(self, line: str) -> None:
        found = ROUND.fullmatch(line)
        if not found or int(found[1]) >= PROCESSES or int(found[2]) >= THREADS:
            if line:
                self.task.note(f"# the guest says: {line}")
            self.wrong += "died" in line
            return
        self.said[int(found[1]), int(found[2])] += 1
        self.rounds += 1
        if found[4] != "ok":
            self.wrong += 1
            self.task.note(f"# {line}")

    def _hear(self, seconds: float) -> bool:
        """What comes within so many seconds. Has anything come?"""
        if not select.select([self.here], [], [], seconds)[0]:
            return False
        for line in self.port.take(os.read(self.here, 65536)):
            self._line(line)
        return True

    def hear_the_rest(self) -> None:
        """All that was said by processes that are gone is in the pipe."""
        while self._hear(0):
            pass

    def more_rounds(self, rounds: int) -> None:
        """Listen until each thread has ended so many more, or one was wrong."""
        threads = [(process, thread) for process in range(PROCESSES) for thread in range(THREADS)]
        enough = {thread: self.said[thread] + rounds for thread in threads}
        while not self.wrong and any(self.said[thread] < enough[thread] for thread in threads):
            assert self._hear(PATIENCE), "the guest says nothing"

    def judge(self, where: str = "") -> None:
        """All rounds."""
        text = f"{where}{self.rounds} rounds of {PROCESSES * THREADS} threads, {self.wrong} wrong"
        self.task.ok(self.rounds and not self.wrong, text)

    def close(self) -> None:
        """No process is left."""
        os.close(self.here)
        os.close(self.there)
