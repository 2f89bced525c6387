# SPDX-License-Identifier: GPL-2.0-or-later
"""A processor of a Linux guest is plugged and unplugged (device_add, device_del: ACPI) while a threaded program is
profiled (guest-tests/linux/plug.c), which says when."""

import subprocess

from lab.common import proc
from lab.common.places import LINUX_PROGRAMS
from lab.common.qmp import Monitor
from lab.common.report import Check
from lab.guest import machine
from lab.guest.vm import GUEST_SHARE, run_directory, vmrun

LINE = "a processor comes and goes while a threaded program is profiled"
TURNS = 3
LOST = ("dropped", "evicted", "unreadable")


SECOND = "EPYC-x86_64-cpu,id=more,socket-id=1,core-id=0,thread-id=0"


def _qemu(monitor: Monitor, command: list[str]) -> list[str]:
    """The guest begins with both processors: this Linux leaves no room for one that is not there when it boots."""
    at = command.index("-smp") + 1
    return [*command[:at], "1,maxcpus=2,sockets=2", *command[at + 1:], "-device", SECOND, *monitor.words]


def _turn(check: Check, monitor: Monitor, text: str) -> None:
    """What the program wants."""
    if text == "plug":
        check.want(len(monitor.do("query-cpus-fast")) == 1, "the processor has not gone")
        monitor.plug()
    elif text == "unplug":
        monitor.do("device_del", id="more")
    lost = {how: monitor.cpu(f"lwp-stat-contexts-{how}") for how in LOST}
    check.want(not any(lost.values()), f"contexts are lost: {lost}")


def profiled(check: Check) -> None:
    """Each round of each thread is complete, and no context is lost."""
    monitor, turns = Monitor(), 0
    with run_directory() as run:
        command = _qemu(monitor, machine.qemu_command(machine.Machine(smp=1), run))
        line = vmrun(run, command, [str(LINUX_PROGRAMS / "plug")])
        child = proc.start(
            line, env={"VLWP_SHARE": GUEST_SHARE}, as_user=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=check.log, text=True, pass_fds=monitor.passed,
        )
        try:
            assert child.stdout
            monitor.accept()
            for text in child.stdout:
                check.say(text.rstrip())
                if text in ("plug\n", "unplug\n"):
                    _turn(check, monitor, text.rstrip())
                    turns += text == "unplug\n"
            status = proc.wait(child)
        finally:
            proc.end(child)
            monitor.close()
    check.want(status == 0 and turns == TURNS, f"the program ends with status {status} after {turns} turns")
