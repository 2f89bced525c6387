# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest under KVM: a command in it, and a profile beside the truth."""

from pathlib import Path

from lab.common import proc
from lab.common.places import LINUX_PROGRAMS, LWPCTL, TOP
from lab.common.report import Check
from lab.guest.machine import totals
from lab.testing.linux import Truth

VLWP = TOP / "vlwp"
SIZE = 600  # thousand instructions, each a step if it is not the PMU that counts
FEW = 20000  # records
COMPLETE = ("Missed events: 0 ", " Contexts dropped: 0, evicted: 0.")


def a_command(check: Check) -> None:
    """Input, output and exit status of a command pass through both machines."""
    text = "through two machines"
    given = check.work / "input"
    given.write_text(text + "\n", encoding="utf-8")
    command = [str(VLWP), "shell", "--accel=kvm", "--smp=1", "--", "/bin/sh", "-c", "cat; exit 5"]
    with given.open("rb") as stdin:
        status, out = check.text(command, stdin=stdin)
    check.want((status, out.rstrip("\n")) == (5, text), "wanted: status 5 and the input")


def by_gs(check: Check) -> None:
    """Threads that GS base tells apart: the program of ./vlwp test linux."""
    command = [str(VLWP), "shell", "--accel=kvm", "--smp=1", "--", str(LINUX_PROGRAMS / "linuxtests"), "gs"]
    status, out = check.text(command)
    check.want(status == 0 and ", 0 failed, 0 skipped" in out, f"status {status}")


class Profile:
    """The workload's profile by the PMU, and where its instructions truly are."""

    def __init__(self, work: Path):
        self.work = work
        self.truth = Truth(work, 1, SIZE)
        self.report = ""

    def take(self, check: Check) -> None:
        """Profile it; nothing is missed and the shares are right."""
        check.want(proc.wait(self.truth.child) == 0, "steptruth fails")
        options = profile_options("prompt", self.work / "data", [f"--stats={self.work}/stats"])
        status, self.report = check.text([VLWP, "run", *options, "--", *self.truth.words])
        check.want(status == 0, f"run ends with status {status}")
        complete = any(line.startswith(COMPLETE[0]) and line.endswith(COMPLETE[1]) for line in self.report.splitlines())
        check.want(complete, "events are missed or contexts are lost")
        check.run(compare_command(self.work))

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


def profile_options(delivery: str, data: Path, more: list[str]) -> list[str]:
    """Options of ./vlwp run for a profile in a guest under KVM."""
    lwprun = ["--lwprun=--event=instructions:23", "--lwprun=--ring-size=4M"]
    return ["--accel=kvm", "--smp=1", f"--cpu=lwp-delivery={delivery}", *lwprun, f"--data={data}", *more]


def compare_command(work: Path) -> list[str]:
    """The command that compares the profile work/data with work/truth."""
    script = '"$0" report --json "$2/data" >"$2/report.json" && exec "$1" "$2/truth" "$2/report.json" --own'
    return ["/bin/sh", "-c", script, str(LWPCTL), str(LINUX_PROGRAMS / "sharecheck"), str(work)]
