# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest under KVM: a command in it, threads, windows of branches, and a profile beside the truth."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from lab.common.places import LINUX_PROGRAMS, LWPRUN, TOP
from lab.common.report import Check
from lab.guest import machine
from lab.guest.machine import totals
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.testing import callgrind, windows
from lab.testing.suite import read

SIZE = 700  # thousand instructions, each a step if it is not the PMU that counts: enough records of any seed
FEW = 20000  # records
COMPLETE = ("Missed events: 0 ", " Contexts dropped: 0, evicted: 0.")


# Of one boot, with the share's files as results: what the check of a command wants, threads with GS bases of their own,
# and windows of branches.
SCRIPT = """cat
$1/test_gs >$2/gs 2>&1; echo "status $?" >>$2/gs
$3 --windows=31:100 -o $2/sampled -- $1/paths >$2/windows.log 2>&1
$3 --windows=all -o $2/all -- $1/paths >>$2/windows.log 2>&1
exit 5
"""
TEXT = "through two machines"
# Is it complete? Every branch is due, so that KVM steps; with `exact` delivery it does so without limit.
WINDOWS = {"sampled": False, "all": True}
PATHS, WORKLOAD = LINUX_PROGRAMS / "paths", LINUX_PROGRAMS / "workload"


class Session:
    """What several checks want of a guest, in one boot."""

    def __init__(self, work: Path):
        self.work = work
        self.status = -1

    def boot(self, check: Check) -> None:
        """Boot, unless a check before has."""
        if self.status >= 0:
            return
        guest = machine.Machine("kvm", smp=1, cpu="lwp-delivery=exact")
        guest.in_lab = not machine.kvm_has_lwp()
        given = self.work / "input"
        given.write_text(TEXT + "\n", encoding="utf-8")
        command = ["/bin/sh", "-c", SCRIPT, "sh", str(LINUX_PROGRAMS), GUEST_SHARE, str(LWPRUN)]
        with run_directory() as run, given.open("rb") as stdin, (self.work / "output").open("wb") as out:
            self.status = machine.boot(guest, run, command, stdin=stdin, stdout=out, stderr=check.log)
            for name in ("gs", "windows.log", *WINDOWS):
                if (run / "share" / name).is_file():
                    shutil.copy(run / "share" / name, self.work)

    def text(self, check: Check, name: str) -> str:
        """A file of the share, which is also shown if the check fails."""
        self.boot(check)
        text = (self.work / name).read_text(encoding="utf-8", errors="replace")
        check.say(text)
        return text

    def a_command(self, check: Check) -> None:
        """Input, output and exit status of a command pass through both machines."""
        text = self.text(check, "output")
        check.want((self.status, text.rstrip("\n")) == (5, TEXT), f"status {self.status}, wanted 5 and the input")

    def by_gs(self, check: Check) -> None:
        """Threads that GS base tells apart: the program of ./vlwp test linux."""
        text = self.text(check, "gs")
        tap = read(text)
        check.want(tap.plan == tap.passed and text.endswith("\nstatus 0\n"), "not passed")

    def windows(self, check: Check) -> None:
        """Windows are paths in a program, and all of them its complete trace."""
        said = self.text(check, "windows.log")
        check.want(said.count("the trace is complete") == 1, "lwprun does not say that the trace is complete")
        for name, complete in WINDOWS.items():
            check.say(windows.are_paths(self.work / name, PATHS, complete))


class Profile:
    """The workload's profile by the PMU, and where its instructions truly are."""

    def __init__(self, work: Path):
        self.work = work
        self.report = ""

    def take(self, check: Check) -> None:
        """Profile it; nothing is missed and the shares are right."""
        self.report = profiled(check, "1", "prompt", [f"--stats={self.work}/stats"])
        complete = any(line.startswith(COMPLETE[0]) and line.endswith(COMPLETE[1]) for line in self.report.splitlines())
        check.want(complete, "events are missed or contexts are lost")

    def by_the_pmu(self, check: Check) -> None:
        """Nearly every record cost one interrupt of a counter. A 64th of the intervals, whose low bits are drawn,
        is 1, for which perf arms no counter: these are stepped."""
        stats = self.work / "stats"
        check.want(stats.is_file(), "there is no profile with statistics")
        check.say(stats.read_text(encoding="utf-8"))
        total = totals(stats)
        records, interrupts, steps = (total.get(name, 0) for name in ("records", "counter-irqs", "steps"))
        check.want(records >= FEW, f"{records} records are fewer than {FEW}")
        check.want(interrupts >= 0.96 * records, f"{interrupts} interrupts for {records} records")
        check.want(steps <= 0.04 * records, f"{steps} steps for {records} records")
        check.want(total.get("no-counter") == 0, "a counter was missing, or it is not told")
        check.want("\nCounted by the PMU: " in f"\n{self.report}", "the report does not say that the PMU counted")


def profiled(check: Check, seed: str, delivery: str, more: Sequence[str]) -> str:
    """Profile the workload in a guest under KVM; the shares are right. Result: the report."""
    data, words = check.work / "data", [str(WORKLOAD), seed, str(SIZE)]
    options = ["--accel=kvm", "--smp=1", f"--cpu=lwp-delivery={delivery}", f"--data={data}", *more]
    options += ["--lwprun=--event=instructions:23", "--lwprun=--ring-size=4M"]
    status, report = check.text([TOP / "vlwp", "run", *options, "--", *words])
    check.want(status == 0, f"run ends with status {status}")
    check.say(callgrind.shares(check.work, words, data, own=True))
    return report
