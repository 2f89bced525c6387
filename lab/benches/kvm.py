# SPDX-License-Identifier: GPL-2.0-or-later
"""What a record and a switch between threads cost in the nested lab: exits and slowdown of LWP's prompt, exact and
stepped records and of the guest's own counter, in a bare guest and by perf in a Linux guest."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO

from lab.benches.output import Value, add_json_option, print_json, rows_of
from lab.building import deps
from lab.common import proc
from lab.common.options import number
from lab.common.places import KVM_PROGRAMS, LAB, LINUX_PROGRAMS, LWPRUN
from lab.common.rows import known, perf, skid
from lab.common.say import Died
from lab.guest import vm
from lab.nested import machine, l1, programs
from lab.nested.l1 import L1
from lab.nested.machine import Machine

IN_L1 = LAB / "nested/bench-l1.sh"
MEDIATED = "test_mediated"  # a program of the kernels that have mediated vPMUs
MILLIONS = 10  # instructions in the Linux guest
WANTED = 4  # times the exits of a prompt record, that perf costs at least
ROW = r"^(?P<how>[a-z]\S*(?: \S+)?) +(?P<samples>\d+) +(?P<exits>\d+) +(?:-|(?P<exits_per_sample>[\d.]+))"
ROW += r" +(?P<slowdown>[\d.]+) +(?P<missed>\d+) +(?P<overshoots>\d+) +(?P<steps>\d+)$"
SWITCH_ROW = r"^(?P<how>two|two profiled|all profiled) +(?P<threads>\d+) +(?P<exits_per_switch>[\d.]+)"
SWITCH_ROW += r" +(?P<slowdown>[\d.]+)$"
TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    late = "how late interrupts are: cycles, zen2, zen3 or adversarial, maybe with /N (zen3)"
    parser.add_argument("skid", nargs="?", type=_skid, default="zen3", metavar="SKID", help=late)
    parser.add_argument(
        "period", nargs="?", type=number(1, 99999999), default=10000, metavar="PERIOD",
        help="instructions for a record (10000)"
    )
    parser.add_argument(
        "rounds", nargs="?", type=number(1, 99999999), default=200000, metavar="ROUNDS",
        help="of the bare guest's loop (200000)"
    )
    add_json_option(parser)


def _skid(text: str) -> str:
    if not re.fullmatch(r"\d{1,9}|(zen2|zen3|adversarial)(/[1-9]\d{0,5})?", text):
        kinds = "a number, zen2, zen3 or adversarial, maybe with /N"
        raise argparse.ArgumentTypeError(f"the skid is {kinds}, not '{text}'")
    return text


@dataclass(frozen=True)
class Part:
    """What one way to profile, or none, has cost in the Linux guest."""

    how: str
    samples: int
    time: int  # microseconds
    exits: int


def parts(lines: Iterable[str]) -> Iterator[Part]:
    """What bench-l1.sh prints, as it comes."""
    for line in lines:
        if line.startswith("end "):
            _, how, samples, time, exits = line.split()
            yield Part(how, int(samples), int(time), int(exits))
        elif line.strip():
            print(line.rstrip("\n"), flush=True)


class Table:
    """The costs beside the run without profiling, which comes first, and the long one, which tells what time alone
    costs: the timers of both kernels."""

    def __init__(self) -> None:
        self.base = Part("none", 0, 1, 0)
        self.each_us = 0.0
        self.each: dict[str, float] = {}

    def row(self, part: Part) -> str:
        """A row."""
        if part.how.startswith("none"):
            self.base = part
        elif part.how == "long":
            self.each_us = (part.exits - self.base.exits) / (part.time - self.base.time)
        cost = "-"
        if part.samples:
            more = part.exits - self.base.exits - self.each_us * (part.time - self.base.time)
            self.each[part.how] = more / part.samples
            cost = f"{self.each[part.how]:.2f}"
        name = "lwp prompt" if part.how == "lwp" else part.how
        return f"{name:<12} {part.samples:8} {part.exits:10} {cost:>12} {part.time / self.base.time:9.1f}"

    def values(self, part: Part) -> dict[str, Value]:
        """A row for programs, after row()."""
        found: dict[str, Value] = {"how": part.how, "samples": part.samples, "exits": part.exits}
        if part.samples:
            found["exits_per_sample"] = self.each[part.how]
        found["slowdown"] = part.time / self.base.time
        return found

    def end(self) -> list[str]:
        """What the numbers are, and perf beside LWP."""
        timers = "timers, and what is asked of the guest"
        lines = [f"(exits/sample: less what the same time costs without profiling: {timers})"]
        lwp, perf = self.each.get("lwp", 0), self.each.get("perf", 0)
        if lwp:
            reached = "reached" if perf >= WANTED * lwp else "missed"
            wanted = f"wanted at least {WANTED}: {reached}"
            lines.append(f"perf: {perf / lwp:.1f} times the exits per sample of lwp prompt, {wanted}")
        return lines


def _bare_guest(lab: L1, command: Sequence[str], out: IO[str]) -> str:
    """The costs in a guest without a system; the table is kept and shown on out. Result: the table."""
    lines = []
    with vm.run_directory() as run:
        child = l1.start(lab, run, list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert child.stdout
        for line in child.stdout:
            print(line, end="", file=out, flush=True)
            lines.append(line)
        if proc.wait(child):
            raise Died("the bare guest has failed")
    return "".join(lines)


def _beside_mediated(lab: L1, command: Sequence[str], out: IO[str]) -> list[dict[str, Value]]:
    """The same in a guest that has the processor's counters itself, where the kernel can give it these: LWP steps,
    promptly no more than its budget."""
    print("\nthe same with a mediated vPMU (enable_mediated_pmu=1):", file=out, flush=True)
    lab = replace(lab, cpu=f"{lab.cpu},+perfmon-v2", kvm_amd=f"{lab.kvm_amd} enable_mediated_pmu=1")
    return rows_of(_bare_guest(lab, command, out), ROW)


def _linux_guest(
    lab: L1, program: Sequence[str], delivery: str, table: Table, out: IO[str]
) -> list[dict[str, Value]]:
    """The costs in a Linux guest; the table is shown on out. Result: its rows."""
    rows: list[dict[str, Value]] = []
    guest = Machine("kvm", smp=1, memory=512, cpu=f"lwp-delivery={delivery},pmu=on,+perfctr-core")
    command = [str(IN_L1), *machine.inner_command(guest, program)]
    with vm.run_directory() as run:
        child = l1.start(lab, run, command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert child.stdout
        for part in parts(child.stdout):
            print(table.row(part), file=out, flush=True)
            rows.append(table.values(part))
        status = proc.wait(child)
    if status:
        raise Died("the Linux guest has failed")
    return rows


def _linux_guests(lab: L1, period: int, out: IO[str]) -> list[dict[str, Value]]:
    """A loop with each way to profile it, then programs with `exact` delivery."""
    table = Table()
    print(
        f"\na Linux guest: {MILLIONS} million instructions, a sample each {period}; "
        f"perf: as perf record takes them, in the guest\n"
        f"{'':<12} {'samples':>8} {'exits':>10} {'exits/sample':>12} {'slowdown':>9}",
        file=out,
        flush=True,
    )
    rows = _linux_guest(lab, [str(LINUX_PROGRAMS / "samplecost"), str(period), str(MILLIONS)], "prompt", table, out)
    print("\n".join(table.end()), "\nprograms, lwp exact:", file=out, flush=True)
    programs_ = [str(LAB / "nested/bench-programs.sh"), str(LWPRUN), str(period)]
    return rows + _linux_guest(lab, programs_, "exact", table, out)


def main(args: argparse.Namespace) -> None:
    deps.ensure()
    l1.prepare()
    out = sys.stderr if args.json else sys.stdout
    print(f"interrupts come late: {args.skid}", file=out, flush=True)
    lab = L1(cpu="EPYC,pmu=on,+perfctr-core", devices=skid(args.skid), kvm_amd=perf(known(args.skid)))
    samples = [str(KVM_PROGRAMS / "kvm_bench"), str(args.period), str(args.rounds)]
    bare = rows_of(_bare_guest(lab, samples, out), ROW)
    beside = _beside_mediated(lab, samples, out) if any(run.name == MEDIATED for run in programs.runs()) else []
    print(file=out)
    switches = rows_of(_bare_guest(lab, [str(KVM_PROGRAMS / "kvm_bench_switch")], out), SWITCH_ROW)
    rows: list[dict[str, Value]] = [{"guest": "bare", **row} for row in [*bare, *switches]]
    rows += [{"guest": "mediated", **row} for row in beside]
    rows += [{"guest": "linux", **row} for row in _linux_guests(lab, args.period, out)]
    if args.json:
        print_json("kvm", rows)
