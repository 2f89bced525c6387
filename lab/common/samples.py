# SPDX-License-Identifier: GPL-2.0-or-later
"""The samples of a profile, of lwprun's or perf's, as perf lists them: when, in which thread, where."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.common import proc
from lab.common.places import LWPCTL
from lab.common.say import Died

LWP, PERF = b"LWPDATA\n", b"PERFILE2"  # how their files begin
FIELDS = "pid,tid,time,event,ip,sym,symoff,dso"
SAMPLE = re.compile(r"^ *(-?\d+)/(-?\d+) +(\d+)\.(\d{9}): +(\S+): +([0-9a-f]+) (.*)$", re.MULTILINE)
MAPPING = re.compile(
    r"PERF_RECORD_MMAP2? (\d+)/\d+: \[0x(\w+)\(0x\w+\) @ (\w+).*\]: \S*x\S* (/.*)$", re.MULTILINE
)


@dataclass(frozen=True)
class Sample:
    """One of them."""

    pid: int
    tid: int
    time: int  # in ns, of the profile's clock
    event: str
    address: int
    where: str  # function and object

    def __str__(self) -> str:
        return f"{self.time / 1e9:.9f} {self.pid}/{self.tid} {self.event} {self.address:#x} {self.where}"


@dataclass(frozen=True)
class Mapping:
    """Code of a file in a process."""

    pid: int
    start: int
    offset: int  # in the file
    path: str


def is_perf(file: Path) -> bool:
    """Is it perf's, not lwprun's? Died: it is neither."""
    try:
        with file.open("rb") as profile:
            begin = profile.read(8)
    except OSError as err:
        raise Died(f"{file}: cannot read this file: {err.strerror}") from err
    if begin not in (LWP, PERF):
        raise Died(f"{file}: this is no profile of lwprun or perf")
    return begin == PERF


def read(file: Path, place: Path, kallsyms: Path | None = None) -> tuple[list[Sample], list[Mapping]]:
    """The samples in the order of time, and the code that was mapped. A profile of lwprun's is written as perf's in a
    folder for it. kallsyms: the names of the kernel's functions."""
    if not shutil.which("perf"):
        raise Died("perf lists the samples: apt-get install linux-perf")
    if not is_perf(file):
        proc.output([LWPCTL, "export", "--format=perf", "-o", place / "perf.data", file])
        file = place / "perf.data"
    names: list[proc.Word] = ["--kallsyms", kallsyms] if kallsyms else []
    words = ["perf", "script", "-f", "-G", "--ns", "-F", FIELDS, "--show-mmap-events", *names, "-i", file]
    text = proc.output(words, stderr=subprocess.DEVNULL)
    samples = [
        Sample(int(pid), int(tid), int(seconds + ns), event, int(address, 16), where)
        for pid, tid, seconds, ns, event, address, where in SAMPLE.findall(text)
    ]
    mappings = [
        Mapping(int(pid), int(start, 16), int(offset, 0), path)
        for pid, start, offset, path in MAPPING.findall(text)
    ]
    return samples, mappings
