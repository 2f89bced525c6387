# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test libvirt: two hosts with libvirt: capabilities, baseline, live migration of a guest that is being
profiled, and what is refused. The hosts live in name spaces that end with the test."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.building import kernel, qemu, tools
from lab.common import places, proc
from lab.common.report import Report
from lab.common.say import Died, Skip
from lab.libvirt.cases import ROWS
from lab.testing.part import Case, Part

INSIDE = places.LAB / "libvirt/inside.py"
UNSHARE = ("unshare", "-rmupf", "--mount-proc")
LENGTH = "2000000"  # of a round, in thousands of instructions


def missing() -> str:
    """What this machine lacks, "" if nothing."""
    path = os.environ["PATH"] + ":/usr/sbin"
    for program in ("libvirtd", "virsh"):
        if not shutil.which(program, path=path):
            return f"test libvirt needs {program}: run './vlwp deps'"
    if not Path("/etc/libvirt").is_dir():
        return "test libvirt needs the directory /etc/libvirt of Debian's package libvirt0"
    if proc.call([*UNSHARE, "true"], stderr=subprocess.DEVNULL):
        return "test libvirt needs user name spaces, or root with the right to mount /proc"
    return ""


def round_length() -> str:
    """The length of a round (VLWP_LIBVIRT_LENGTH: another one, for hosts that are faster or slower)."""
    text = os.environ.get("VLWP_LIBVIRT_LENGTH") or LENGTH
    if not re.fullmatch(r"[1-9]\d{0,11}", text):
        raise Died(f"VLWP_LIBVIRT_LENGTH={text}: a number of thousands of instructions is needed")
    return text


class Libvirt(Part):
    """The rows of all tables, run in name spaces."""

    name = "libvirt"

    def prepare(self) -> None:
        if missing():
            return  # run() says it
        tools.build()
        kernel.build()
        qemu.ensure()
        qemu.build("base")

    def cases(self) -> list[Case]:
        return [Case(row.name, row.line, self._run_one(row.name), f"./vlwp test libvirt {row.name}") for row in ROWS]

    def _run_one(self, name: str) -> Callable[[Report], object]:
        return lambda report: inside([name], report)

    def run(self, cases: Sequence[Case], report: Report) -> None:
        """All with the same hosts."""
        inside([case.name for case in cases], report)


def inside(names: Sequence[str], report: Report, *words: str) -> None:
    """Cases by their names, in name spaces; words for inside.py before them."""
    lack = missing()
    if lack:
        raise Skip(lack)
    program: list[proc.Word] = [places.PYTHON, "-B", "-s", INSIDE]
    program += [f"--work={report.work}", f"--length={round_length()}", *words, *names]
    argv: list[proc.Word] = [*UNSHARE, "--propagation", "private", "--kill-child", *program]
    child = proc.start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
    assert child.stdout
    last = ""
    try:
        for last in child.stdout:
            report.line(last.rstrip("\n"))
    finally:
        if child.poll() is None and not last.endswith("skipped\n"):
            child.kill()  # unshare does not heed SIGTERM; its end is that of all in the name spaces
        proc.wait(child)
    report.add_closing(last, "test libvirt")


PART = Libvirt()
