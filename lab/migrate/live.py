# SPDX-License-Identifier: GPL-2.0-or-later
"""Live migration of a Linux guest in which four processes of two threads profile themselves
(guest-tests/migrate/live_guest.c): from process to process, over and over, by every way of QEMU; and what it costs.
Between two migrations each thread ends at least one round, which it says on the serial port; no round may be wrong and
no context lost."""

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from lab.common.qmp import Vm
from lab.migrate.guest import Guest
from lab.migrate.machines import Task

SYS_USERFAULTFD = 323
LOST = ("dropped", "evicted", "unreadable")
SLOW = 1000000  # bytes a second: too slow to end before it is switched over
WAYS = {"unix": "return-path", "TCP": "return-path", "multifd": "multifd", "postcopy": "postcopy-ram"}


def _has_userfaultfd() -> bool:
    """As QEMU asks for it."""
    if os.access("/dev/userfaultfd", os.R_OK | os.W_OK):
        return True
    file = ctypes.CDLL(None).syscall(SYS_USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK)
    if file >= 0:
        os.close(file)
    return bool(file >= 0)


def _until(vm: Vm, wanted: str) -> None:
    while (status := vm.event("MIGRATION")["data"]["status"]) != wanted:
        assert status != "failed", f"migration is never {wanted}"


def _hop(guest: Guest, vm: Vm, qemu: Path, way: str) -> tuple[Vm, bool]:
    """Over to a fresh process of an emulator. Result: it, and has the guest arrived?"""
    uri = f"unix:{guest.task.work}/socket"
    if way == "TCP":
        uri = f"tcp:127.0.0.1:{20000 + os.getpid() % 20000}"
    following = guest.start("destination", qemu, incoming=True)
    for one in (vm, following):
        one.way(WAYS[way])
    following.do("migrate-incoming", uri=uri)
    vm.events.clear()
    if way == "postcopy":
        vm.do("migrate-set-parameters", **{"max-bandwidth": SLOW})
    vm.do("migrate", uri=uri)
    if way == "postcopy":
        _until(vm, "active")
        vm.do("migrate-start-postcopy")
        _until(vm, "postcopy-active")
    done = vm.migrated() and following.migrated()
    vm.kill()
    return following, done and following.status() == "running"


def live(task: Task) -> None:
    """task.count live migrations."""
    ways, guest = list(WAYS), Guest(task)
    if not _has_userfaultfd():
        task.skip("postcopy: userfaultfd needs root, or vm.unprivileged_userfaultfd=1")
        ways.remove("postcopy")
    hops = whole = 0
    vm = guest.start("source", task.qemu)
    try:
        guest.more_rounds(1)
        while hops < task.count and not guest.wrong:
            way, there = ways[hops % len(ways)], task.qemu if hops % 2 else task.into_qemu or task.qemu  # and back
            vm, done = _hop(guest, vm, there, way)
            if not done:
                task.note(f"# migration {hops + 1} ({way}) failed")
                break
            hops += 1
            guest.more_rounds(2)
            whole += not any(vm.stat(f"contexts-{how}", "vm") for how in LOST)
    finally:
        vm.kill()
    task.ok(hops == task.count, f"{hops} of {task.count} live migrations, by {', '.join(ways)}")
    task.ok(whole == task.count, "no context is lost")
    guest.judge()
    guest.close()


@dataclass(frozen=True)
class Load:
    """A guest that is migrated while it writes the same amount of memory."""

    name: str
    cpu: str
    init: str


LOADS = (
    Load("without lwp", "-lwp", "plain"), Load("lwp present, off", "+lwp", "plain"),
    Load("eight threads profiled", "+lwp", ""),
)


def downtime(task: Task, load: Load) -> tuple[float, float]:
    """Downtime and total time of one migration of a guest that has just been booted, in milliseconds."""
    guest, uri = Guest(task), f"unix:{task.work}/socket"
    vm = guest.start("source", task.qemu, load.cpu, load.init)
    guest.more_rounds(1)
    following = guest.start("destination", task.qemu, load.cpu, load.init, incoming=True)
    for one in (vm, following):
        one.way("return-path")
    following.do("migrate-incoming", uri=uri)
    vm.do("migrate", uri=uri)
    assert vm.migrated() and following.migrated(), f"{load.name}: migration failed"
    info = vm.do("query-migrate")
    for one in (vm, following):
        one.kill()
    assert not guest.wrong, f"{load.name}: a round was wrong"
    guest.close()
    return info["downtime"], info["total-time"]
