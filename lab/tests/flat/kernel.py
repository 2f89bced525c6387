# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel of the flat tests, and processors that the tests of QEMU share."""

import re
from functools import cache

from lab.common import proc
from lab.testing.suite import IMAGE

# Without a line for each feature of the model that TCG lacks.
PLAIN = "EPYC,check=off"
LWP = f"{PLAIN},lwp=on"
OS = f"{LWP},lwp-context=os"
PMU = f"{PLAIN},pmu=on,+perfctr-core"
STOPPED = "-S"  # nothing runs: only what QEMU says of CPUs counts


def flat(append: str, *words: str) -> list[str]:
    """QEMU's options for the kernel."""
    own = ["-kernel", str(IMAGE), "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-m", "64", "-no-reboot"]
    return [*own, "-append", append, *words]


def bench(rounds: int, *words: str) -> list[str]:
    """A program that is profiled for a while."""
    return flat(f"test=bench cpus=1 rounds={rounds} interval=100", *words)


@cache
def symbols() -> dict[str, int]:
    """Where everything is in the kernel."""
    found = re.findall(r"^([0-9a-f]+) . (\S+)$", proc.output(["nm", IMAGE]), re.MULTILINE)
    return {name: int(address, 16) for address, name in found}
