# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU that is moved while its guest runs: it is saved, ended, and started again from what was saved, with all that
it has inherited. As a program it takes QEMU's command line; door() writes one that does so."""

import os
import random
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lab.common import places
from lab.common.qmp import Vm
from lab.guest import frozen
from lab.guest.count1 import Count1

MOVES = "moves"  # a line each
KEPT = "x-ignore-shared"  # the program's files, which others look at too, are not moved


def door(folder: Path, moments: Sequence[float]) -> Path:
    """A program in the place of QEMU; moments: seconds of the host between two moves."""
    program = folder / "qemu"
    words = ["-m", __name__, str(places.qemu()), str(folder), *map(str, moments), "--"]
    line = shlex.join(["/usr/bin/python3", "-B", *words])
    program.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(places.TOP))} exec {line} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def moved(one: Count1, place: Path, command: Sequence[str], moments: Sequence[float]) -> tuple[dict[str, bytes], int]:
    """A run of a command on count-1, which is moved at these moments: the files of its share, and its moves."""
    share = place / "share"
    share.mkdir(parents=True)
    with (share / "output").open("wb") as out:
        status, _ = frozen.boot(replace(one, emulator=door(place, moments)), place, command, stdout=out, stderr=out)
    moves = place / MOVES
    found = {path.name: path.read_bytes() for path in share.iterdir()}
    return {**found, "status": str(status).encode()}, len(moves.read_text().split()) if moves.exists() else 0


def moments_of(draw: random.Random, seconds: float) -> list[float]:
    """Three moments in a run that takes so long."""
    return [draw.uniform(0, seconds / 2) for _ in range(3)]


def differs(one: dict[str, bytes], other: dict[str, bytes]) -> str:
    """The names of files that are not the same; "": none."""
    return " ".join(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))


def _run(argv: list[str], folder: Path, moments: list[float]) -> int:
    """Until the guest ends. What is inherited goes on: sockets of who has started us. It is moved only when it runs."""
    inherited = [number for number in map(int, os.listdir("/proc/self/fd")) if number > 2]
    passed = [number for number in inherited if Path(f"/proc/self/fd/{number}").exists() and os.get_inheritable(number)]
    stream, incoming = folder / "stream", False
    for turn in range(len(moments) + 1):
        with Vm(argv, folder / f"log{turn}", fds=passed) as vm:
            if incoming and not vm.load(stream, KEPT):
                raise SystemExit("it does not take up what was saved")
            vm.event("RESUME")
            if turn == len(moments):
                return vm.child.wait()
            try:
                return vm.child.wait(moments[turn])
            except subprocess.TimeoutExpired:
                vm.save(stream, KEPT)
        with (folder / MOVES).open("a", encoding="ascii") as told:
            told.write(f"{turn}\n")
        incoming = True
    raise AssertionError


if __name__ == "__main__":
    given, rest = sys.argv[3:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
    sys.exit(_run([sys.argv[1], *rest], Path(sys.argv[2]), [float(word) for word in given]))
