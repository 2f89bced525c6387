# SPDX-License-Identifier: GPL-2.0-or-later
"""count-1, stopped after chosen instructions: a monitor and a debugger look at it. Its clock is the number of
instructions, so a run stops where another has taken a sample."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import DEVNULL
from threading import Thread

from lab.common.qmp import PATIENCE, Monitor, Stub
from lab.common.say import Died
from lab.guest import count1, frozen

CLOCK = "x-lwp-clock"


@dataclass
class Stopped:
    """Such a machine."""

    monitor: Monitor
    stub: Stub
    door: Path  # where a debugger may connect, after release()

    def run_to(self, clock: int) -> None:
        """Until the clock says so, before the next instruction; it must not have passed that."""
        if clock < self.clock():
            raise Died(f"the machine's clock begins at {self.clock()}, after {clock}")
        self.monitor.set_cpu(CLOCK, clock)
        if not self.stub.ask("c").startswith("T"):
            raise Died("the machine has ended before its clock says so")

    def clock(self) -> int:
        """What it says."""
        return int(self.monitor.cpu(CLOCK))

    def executed(self) -> int:
        """Instructions. The clock is ahead of them by the time that the machine has slept."""
        return int(self.monitor.do("query-replay")["icount"])

    def comes_to(self, sample_clock: int, address: int) -> bool:
        """Run to a sample: to the instruction that the record names, or, where it names the one after the counter's
        overflow, by one more to that. Is it there?"""
        self.run_to(sample_clock - 1)
        if self.stub.rip() == address:
            return True
        self.stub.ask("s")
        return self.stub.rip() == address

    def release(self) -> None:
        """Let a debugger connect in our place; the machine stays where it is."""
        self.stub.socket.close()
        for device in ("none", f"unix:{self.door},server=on,wait=off"):  # there is one door at a time
            self.monitor.do("human-monitor-command", **{"command-line": f"gdbserver {device}"})


@contextmanager
def stopped(one: count1.Count1, run: Path, command: Sequence[str]) -> Iterator[Stopped]:
    """The machine before its command's first instruction; it ends with the block. What the command prints is lost."""
    door, monitor = run / "gdb", Monitor()
    (run / "share").mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        listening.listen()
        listening.settimeout(PATIENCE)
        looked = replace(one, watched=(*one.watched, *monitor.words))
        own = {"pass_fds": monitor.passed, "start_new_session": True, "stdout": DEVNULL, "stderr": DEVNULL}
        words = (looked, run, command, f"--gdb=unix:{door}")
        thread = Thread(target=frozen.boot, args=words, kwargs={**own, "stdin": DEVNULL})
        thread.start()
        stub = Stub(connected=listening.accept()[0])
    door.unlink()
    monitor.accept()
    try:
        yield Stopped(monitor, stub, door)
    finally:
        with suppress(EOFError):
            monitor.send("quit")
        thread.join()
        monitor.close()
        stub.socket.close()
