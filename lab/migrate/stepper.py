# SPDX-License-Identifier: GPL-2.0-or-later
"""Stopping a machine under KVM at a chosen step, from outside: neither KVM nor QEMU has anything for it, and the guest
does what it would do without.

A perf event of the vCPU's thread counts one of KVM's tracepoints and sends the thread a signal when there have been
enough. KVM_RUN ends with it before the vCPU is entered again. As we trace the thread, it waits for us there. Only when
QEMU has been told to stop, which it lets the thread know by another signal, is the thread let go; it then finds that it
is to stop."""

import contextlib
import ctypes
import fcntl
import os
import re
import signal
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from lab.common.qmp import PATIENCE, Vm

TRACING = Path("/sys/kernel/tracing")
SIG_VCPU = signal.SIGUSR1  # QEMU's signal to vCPU threads, and the only one that they do not block
WAITING_MS = 20  # QEMU's main thread is waiting for the vCPU if it has been in futex() for so long
SYS_PERF_EVENT_OPEN, SYS_FUTEX = 298, 202
PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE = 7, 17, 0x4206
WALL = 0x40000000
IOC_ENABLE, IOC_REFRESH, IOC_SET_FILTER = 0x2400, 0x2402, 0x40082406
F_SETSIG, F_SETOWN_EX = 10, 15
TRACEPOINT, DISABLED, CLOEXEC = 2, 1, 8  # of perf_event_open(2)
ATTRIBUTES = 112  # bytes of struct perf_event_attr

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = _libc.syscall.restype = ctypes.c_long


@dataclass(frozen=True)
class Tracepoint:
    """What is counted of a machine's first vCPU."""

    name: str
    filter: str = ""


# #DB, #UD, #PF, IRET: exits of a vCPU that LWP steps; interrupts of the host are not among them.
EXIT = Tracepoint("kvm/kvm_exit", "exit_reason==0x41||exit_reason==0x46||exit_reason==0x4e||exit_reason==0x74")
# A record, or LWP's own #PF, between two instructions.
BOUNDARY = Tracepoint("kvm_lwp/kvm_lwp_boundary")


def _call(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _ptrace(request: int, thread: int, data: int = 0) -> None:
    words = (ctypes.c_long(request), ctypes.c_long(thread), ctypes.c_long(0), ctypes.c_long(data))
    _call(_libc.ptrace(*words), "ptrace")


def _open(thread: int, event: Tracepoint, period: int) -> int:
    """An event of a thread; period 0: count only. It is not enabled yet."""
    if not (TRACING / "events").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
    number = int((TRACING / "events" / event.name / "id").read_text(encoding="ascii"))
    fields = struct.pack("=IIQQQQQ", TRACEPOINT, ATTRIBUTES, number, period, 0, 0, DISABLED)
    attributes = ctypes.create_string_buffer(fields, ATTRIBUTES)
    words = (SYS_PERF_EVENT_OPEN, ctypes.addressof(attributes), thread, -1, -1, CLOEXEC)
    file = _call(_libc.syscall(*map(ctypes.c_long, words)), event.name)
    if event.filter:
        fcntl.ioctl(file, IOC_SET_FILTER, event.filter.encode() + b"\0")
    return file


def _thread(vm: Vm) -> int:
    """Of the first vCPU."""
    return int(vm.do("query-cpus-fast")[0]["thread-id"])


def count(vm: Vm) -> int:
    """Count the exits of the machine, which is stopped, from now on. Result: for counted(); the caller closes it."""
    file = _open(_thread(vm), EXIT, 0)
    fcntl.ioctl(file, IOC_ENABLE, 0)
    return file


def counted(file: int) -> int:
    """So many there were."""
    return int.from_bytes(os.read(file, 8), "little")


def _alarm(thread: int, event: Tracepoint, number: int) -> int:
    """An event that sends the thread a signal when it has been there so often."""
    file = _open(thread, event, number)
    fcntl.fcntl(file, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    fcntl.fcntl(file, F_SETSIG, SIG_VCPU)
    fcntl.fcntl(file, F_SETOWN_EX, struct.pack("ii", 0, thread))
    fcntl.ioctl(file, IOC_REFRESH, 1)
    return file


def _comes(thread: int, file: int, number: int) -> bool:
    """Wait until the event's signal has stopped the thread; pass others on. One of QEMU's that was on its way already
    has swallowed it: whether the event has been reached, its count says. False: the thread ends."""
    while True:
        _, status = os.waitpid(thread, WALL)
        if not os.WIFSTOPPED(status):
            return False
        if os.WSTOPSIG(status) == SIG_VCPU and counted(file) >= number:
            return True
        # Not a signal but the stop of a group, if there is an event.
        _ptrace(PTRACE_CONT, thread, 0 if status >> 16 else os.WSTOPSIG(status))


def _told(process: int, thread: int) -> None:
    """The vCPU is to stop: QEMU has said so by a signal, or, if one was on its way already, says nothing and waits."""
    waiting = 0
    for _ in range(PATIENCE * 1000):
        status = Path(f"/proc/{process}/task/{thread}/status").read_text(encoding="ascii")
        pending = re.search(r"^SigPnd:\s*(\w+)", status, re.MULTILINE)
        if pending and int(pending[1], 16) >> (SIG_VCPU - 1) & 1 or waiting >= WAITING_MS:
            return
        time.sleep(0.001)
        number = Path(f"/proc/{process}/task/{process}/syscall").read_text(encoding="ascii").split()[0]
        waiting = waiting + 1 if number == str(SYS_FUTEX) else 0
    raise TimeoutError("QEMU does not stop its vCPU")


def run(vm: Vm, event: Tracepoint, number: int) -> bool:
    """Let the machine, which is stopped, run until the event has come so often (>= 1), and stop it there. False: it has
    ended before."""
    thread = _thread(vm)
    _ptrace(PTRACE_SEIZE, thread)
    file = _alarm(thread, event, number)
    try:
        vm.send("cont")
        if not _comes(thread, file, number):
            with contextlib.suppress(EOFError):
                vm.answer()
            return False
        vm.answer()
        vm.send("stop")
        _told(vm.child.pid, thread)
        _ptrace(PTRACE_DETACH, thread, SIG_VCPU)
        vm.answer()
        return True
    finally:
        os.close(file)
