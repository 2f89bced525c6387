# SPDX-License-Identifier: GPL-2.0-or-later
"""What LWP costs under TCG in a Linux guest: the CPU time of QEMU while a program runs in it. All guests are booted
first, and then take turns, so that a busy machine is busy for all of them."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lab.benches.output import Value
from lab.benches.ratios import Row
from lab.building import kernel
from lab.common import places, proc
from lab.common.places import LINUX_PROGRAMS, LWPRUN
from lab.common.say import Died
from lab.guest.vm import common_arguments, kernel_args, run_directory, vmrun

TITLE = "CPU time of QEMU while a program runs in a Linux guest; lwprun, which records, is part of it"
MEMORY = 512  # MiB
# Each line of its input is a command; when it has ended, its status is printed.
LOOP = 'echo ready; while read -r line; do eval "$line" >/dev/null 2>&1 </dev/null; echo "ended $?"; done'
PERL = (
    "my %h; my $x = 1; my $s = q();"
    "for my $i (1 .. 60000) { $x = ($x * 1103515245 + 12345) & 0x7fffffff; my $k = sprintf(q(%x), $x % 997);"
    " $h{$k} += $i; $s = substr($s . $k, -40); $h{q()}++ if $s =~ /(\\w)\\1(\\w+)\\1/ }"
    "print join(q(,), map { $h{$_} } sort keys %h)"
)
LOADS = {"workload": f"{LINUX_PROGRAMS}/workload 1 120000", "perl": f"env PERL_HASH_SEED=0 /usr/bin/perl -e '{PERL}'"}
SWITCHES = 200000
THREADS = {f"{threads} threads": f"{LINUX_PROGRAMS}/switches {threads} {SWITCHES}" for threads in (2, 1000)}


@dataclass(frozen=True)
class Way:
    """How a program runs: on which QEMU, and what is recorded."""

    name: str
    patched: bool = True
    event: str = ""  # lwprun's --event, empty: nothing is recorded
    ring: str = "4M"

    def command(self, load: str) -> str:
        """What the guest executes."""
        if not self.event:
            return load
        return f"{LWPRUN} --event={self.event} --ring-size={self.ring} -o /tmp/bench.data -- {load}"


WAYS = [Way("unpatched QEMU", patched=False), Way("lwp present, off")]
WAYS += [
    Way(f"{event}, interval {interval}", event=f"{event}:{interval}")
    for event in ("instructions", "branches")
    for interval in (1000000, 10000, 1000)
]
# Of the two numbers of threads the ratios must be alike: a switch does not cost more among many contexts.
THREAD_WAYS = [*WAYS[:2], Way("instructions, interval 1000000", event="instructions:1000000", ring="64K")]


class Guest:
    """A guest that executes one command after the other."""

    def __init__(self, patched: bool, run: Path):
        qemu = places.qemu() if patched else places.qemu_base()
        cpu = "EPYC,+lwp" if patched else "EPYC"
        own = ["-accel", "tcg,thread=multi", "-cpu", cpu, "-append", kernel_args()]
        command = vmrun(run, [str(qemu), *common_arguments(run, 1, MEMORY), *own], ["/bin/sh", "-c", LOOP])
        self.child = proc.start(command, as_user=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.child.stdin and self.child.stdout
        self.to: IO[str] = self.child.stdin
        self.answers: IO[str] = self.child.stdout
        self._want("ready")
        children = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text(encoding="ascii").split()
        named = [pid for pid in children if Path(f"/proc/{pid}/comm").read_text(encoding="ascii").startswith("qemu")]
        if len(named) != 1:
            raise Died("the guest's QEMU is not found")
        self.clock = ~int(named[0]) << 3 | 2  # as clock_getcpuclockid() makes it

    def _want(self, answer: str) -> None:
        line = self.answers.readline().strip()
        if line != answer:
            raise Died(f"the guest says '{line}' instead of '{answer}'")

    def measure(self, command: str) -> float:
        """Execute a command. Result: the seconds of CPU time that QEMU needed."""
        before = time.clock_gettime(self.clock)
        print(command, file=self.to, flush=True)
        self._want("ended 0")
        return time.clock_gettime(self.clock) - before

    def end(self) -> None:
        """No more commands."""
        self.to.close()
        proc.wait(self.child)


@contextlib.contextmanager
def _guests() -> Iterator[dict[bool, Guest]]:
    """A guest on unpatched QEMU and one on ours."""
    with run_directory() as base, run_directory() as ours:
        guests = {False: Guest(False, base), True: Guest(True, ours)}
        yield guests
        for guest in guests.values():
            guest.end()


def measure(turns: int) -> list[dict[str, Value]]:
    """Run all programs in all ways."""
    kernel.build()
    loads = {**LOADS, **THREADS}
    rows = [
        (load, way, Row(f"{load}: {way.name}"))
        for load in loads for way in (WAYS if load in LOADS else THREAD_WAYS)
    ]
    with _guests() as guests:
        for turn in range(-1, turns):  # the first one reads files and translates the kernel
            base = 0.0
            for load, way, row in rows:
                seconds = guests[way.patched].measure(way.command(loads[load]))
                base = base if way.patched else seconds
                if turn >= 0:
                    row.add(seconds, base)
    return [row.values() for _, _, row in rows]
