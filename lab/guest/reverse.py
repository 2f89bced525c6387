# SPDX-License-Identifier: GPL-2.0-or-later
"""count-1, recorded and replayed by QEMU, whose debugger then steps back. What it executes stays the same.

kvmvapic is left out: in a replay its load waits for the vCPU (run_on_cpu), and the vCPU for the lock that the load
holds. Linux does not use it."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lab.guest import count1, snapshot
from lab.guest.stopped import CLOCK, Stopped, stopped

WITHOUT = ("-global", "apic-common.vapic=off")
# Its section in the state: type and number, name, instance and version; vmstate_vapic; type and number once more.
NAME, BEFORE, LENGTH = b"\x0bkvm-tpr-opt", 5, 25 + 144 + 5
CLUSTER = 1 << 16
DISK = 1 << 20  # bytes of the empty disk, to which snapshots are added


def _without_vapic(to: Path) -> Path:
    """The snapshot's state."""
    state = snapshot.ensure().state.read_bytes()
    at = state.index(NAME) - BEFORE
    to.write_bytes(state[:at] + state[at + LENGTH:])
    return to


def _disk(to: Path) -> None:
    """An empty disk, as qcow2: header, table of tables of reference counts, these, an empty table of data."""
    header = struct.pack(">4sIQIIQIIQQIIQ", b"QFI\xfb", 2, 0, 0, 16, DISK, 0, 1, 3 * CLUSTER, CLUSTER, 1, 0, 0)
    parts = (header, struct.pack(">Q", 2 * CLUSTER), struct.pack(">4H", 1, 1, 1, 1), b"")
    to.write_bytes(b"".join(part.ljust(CLUSTER, b"\0") for part in parts))


@contextmanager
def replayed(one: count1.Count1, run: Path, command: Sequence[str], start: int, end: int) -> Iterator[Stopped]:
    """The machine when it has executed so many instructions, or at its beginning, in a replay of the run up to a later
    clock. When a debugger connects after release(), QEMU saves a snapshot; the debugger steps back to there."""
    run.mkdir()
    log = run / "log"
    one = replace(one, watched=(*one.watched, *WITHOUT), state=_without_vapic(run / "state"))
    with stopped(replace(one, replay=f",rr=record,rrfile={log}"), run / "first", command) as first:
        first.run_to(end)
    with stopped(replace(one, replay=f",rr=replay,rrfile={log}"), run / "again", command) as again:
        again.monitor.set_cpu(CLOCK, end)  # it stops then, after which nothing is recorded
        if again.executed() < start:
            again.monitor.do("replay-break", icount=start)
            again.stub.ask("c")
        _disk(run / "disk")
        file = {"driver": "file", "filename": str(run / "disk")}
        again.monitor.do("blockdev-add", **{"driver": "qcow2", "node-name": "disk", "file": file})
        yield again
