# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that are saved, loaded and moved: the bare guest, and the Linux guest whose init is
guest-tests/migrate/live; and what a run of the tests finds."""

import random
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from lab.common import places, proc
from lab.common.qmp import PATIENCE, Vm
from lab.testing.suite import IMAGE, Row

INITRD = places.BUILD / "migrate/live.cpio"
GAVE_UP = -1


@dataclass
class Task:
    """A run: which machines, how much, and what its draws begin with."""

    work: Path
    seed: int
    count: int = 100
    jobs: int = 2
    accel: str = "tcg"
    into: str = ""  # the accelerator of who takes a save up, if that is another
    qemu: Path = field(default_factory=places.qemu)
    into_qemu: Path | None = None  # its emulator
    kind: str = ""  # of machine, if not the current q35
    properties: str = ""  # more of the bare guest's CPU
    role: str = ""  # of this host in a pair: first or second
    lines: list[str] = field(default_factory=list)
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def ok(self, good: object, text: str) -> None:
        """A verdict."""
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        self.note(f"{'ok     ' if good else 'FAILED '} {text}")

    def note(self, text: str) -> None:
        """A line."""
        self.lines.append(text)
        print(text, flush=True)

    def skip(self, text: str) -> None:
        """What this machine lacks."""
        self.skipped += 1
        self.note(f"skipped {text}")

    def dice(self, *words: object) -> random.Random:
        """Draws of a part of it."""
        return random.Random(" ".join(map(str, (self.seed, *words))))

    def source(self, cpu: str, append: str, *extra: str, name: str = "source", **options: Any) -> Vm:
        """The bare guest."""
        return self._bare(self.qemu, self.accel, cpu, append, extra, name, **options)

    def destination(self, cpu: str, append: str, name: str = "destination", **options: Any) -> Vm:
        """The one that takes it up."""
        extra = ("-incoming", "defer")
        return self._bare(self.into_qemu or self.qemu, self.into or self.accel, cpu, append, extra, name, **options)

    def _bare(
        self, qemu: Path, accel: str, cpu: str, append: str, extra: Sequence[str], name: str, **options: Any
    ) -> Vm:
        properties = ",".join(filter(None, [cpu, self.properties if cpu else ""]))
        test, _, args = append.partition(" ")
        command = Row("", properties, args, test).command(qemu, IMAGE, accel, places.FIRMWARE)
        kind = ["-machine", self.kind] if self.kind else []
        return Vm([*command, *kind, *extra], self.work / f"{name}.log", self.work / f"{name}.out", **options)

    def side_by_side(self, work: Any, *args: Any) -> list[Any]:
        """work(number, *args) of as many workers as are wanted; their results."""
        with ThreadPoolExecutor(self.jobs) as pool:
            futures: list[Future[Any]] = [pool.submit(work, number, *args) for number in range(self.jobs)]
            return [future.result() for future in futures]


def alone(part: str, *options: object) -> list[str]:
    """The command line of a run by itself."""
    env = ["env", f"VLWP_BUILD_DIR={places.BUILD}", f"PYTHONPATH={places.TOP}"]
    return proc.words([*env, places.PYTHON, "-B", "-m", "lab.migrate", part, *map(str, options)])


def output(vm: Vm) -> str:
    """What the guest has printed, line ends as it writes them."""
    return vm.output.read_bytes().decode(errors="replace")


def ended(vm: Vm, seconds: float = PATIENCE) -> int:
    """The exit status of a machine that ends by itself, or GAVE_UP."""
    try:
        return vm.wait(seconds)
    except TimeoutExpired:
        return GAVE_UP
    finally:
        vm.close()
