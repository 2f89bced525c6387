# SPDX-License-Identifier: GPL-2.0-or-later
"""Live migration between two hosts, each of which runs this program, one with the role first, one with second: the
guest of live.py, with short rounds, goes there and back over the network between them. Between two migrations each
thread ends at least one round, which it says on the serial port of the host that it is on; no round may be wrong. A
line that it begins on one host and ends on the other is a line, too."""

import fcntl
import socket
import struct
import subprocess
import time

from lab.common.qmp import PATIENCE, Vm
from lab.migrate.guest import Guest
from lab.migrate.machines import Task

INTERFACE = b"eth0"
ADDRESSES = {"first": "10.86.0.1", "second": "10.86.0.2"}
TALK_PORT, MIGRATE_PORT = 4000, 4001  # the first listens on the one; on both the two agree when to continue
RETRY = 0.1  # seconds, while the other host is still booting
SIOCSIFADDR, SIOCSIFFLAGS, UP_AND_RUNNING = 0x8916, 0x8914, 0x41
LINE = struct.Struct("=H254s")  # what a line was begun with


def _network_up(address: str) -> None:
    """The network card that links the two."""
    subprocess.run(["modprobe", "virtio_net"], check=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        where = struct.pack("=16sHH4s8x", INTERFACE, socket.AF_INET, 0, socket.inet_aton(address))
        fcntl.ioctl(control, SIOCSIFADDR, where)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("=16sH14x", INTERFACE, UP_AND_RUNNING))


def _connected(first: bool) -> socket.socket:
    if first:
        with socket.create_server((ADDRESSES["first"], TALK_PORT)) as server:
            server.settimeout(PATIENCE)
            talk, _ = server.accept()
    else:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                talk = socket.create_connection((ADDRESSES["first"], TALK_PORT), RETRY)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(RETRY)
    talk.settimeout(PATIENCE)
    return talk


def _hear(talk: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = talk.recv(size - len(data))
        if not more:
            raise EOFError("the other host has gone")
        data += more
    return data


def _leave(guest: Guest, vm: Vm, talk: socket.socket, other: str) -> bool:
    """The guest says the rest of its line on the other host."""
    _hear(talk, 1)  # it listens
    vm.events.clear()
    vm.way("return-path")
    vm.do("migrate", uri=f"tcp:{other}:{MIGRATE_PORT}")
    done = vm.migrated()
    vm.kill()
    guest.hear_the_rest()
    talk.sendall(LINE.pack(len(guest.port.begun), guest.port.begun))
    return done


def _arrive(guest: Guest, talk: socket.socket, here: str) -> tuple[Vm, bool]:
    vm = guest.start("destination", guest.task.qemu, init="short", incoming=True)
    vm.way("return-path")
    vm.do("migrate-incoming", uri=f"tcp:{here}:{MIGRATE_PORT}")
    talk.sendall(b"\0")
    done = vm.migrated() and vm.status() == "running"
    length, begun = LINE.unpack(_hear(talk, LINE.size))
    guest.port.begun = begun[:length]
    return vm, done


def pair(task: Task) -> None:
    """task.count live migrations."""
    first = task.role == "first"
    here, other = (ADDRESSES[role] for role in (("first", "second") if first else ("second", "first")))
    _network_up(here)
    guest, vm, hops = Guest(task), None, 0
    if first:
        vm = guest.start("source", task.qemu, init="short")
        guest.more_rounds(1)
    with _connected(first) as talk:
        for number in range(task.count):
            if vm:
                done = _leave(guest, vm, talk, other)
                vm = None
            else:
                vm, done = _arrive(guest, talk, here)
            hops += done
            if hops <= number:
                break
            if vm:
                guest.more_rounds(2)
            if guest.wrong:
                break
        if vm:
            vm.kill()
    task.ok(hops == task.count, f"{task.role} host: {hops} of {task.count} live migrations to the other host and back")
    guest.judge(f"{task.role} host: ")
    guest.close()
