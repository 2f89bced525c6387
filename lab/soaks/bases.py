# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests on each combination of the bases in lab/bases.toml that is not the default one, and guests that are
profiled while they go from one base's QEMU to another's, saved and restored at points of a program, and live, there and
back; and live between hosts of either kernel."""

import argparse
import itertools
from pathlib import Path

from lab.common import bases, places
from lab.common.report import Check, Report
from lab.common.steps import jobs_count
from lab.guest.vm import run_directory
from lab.migrate.machines import alone
from lab.start import deps
from lab.start.pytest_part import PARTS as TEST_PARTS
from lab.testing import seeds

PARTS = ("flat", "kvm", "migrate")
POINTS, HOPS = 100, 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, "across", []], metavar="PART",
        help=f"of {' '.join(PARTS)} (those parts of the test), across (between the bases); default all",
    )
    pairs = combinations()
    parser.add_argument("--only", choices=pairs, metavar="BASES", help=f"the parts with one pair: {' '.join(pairs)}")


def combinations() -> list[str]:
    """All pairs of a kernel and a QEMU but the default one, as for --base."""
    kinds = [[name for name in bases.names() if name.startswith(f"{kind}-")] for kind in bases.KINDS]
    pairs = [",".join(pair) for pair in itertools.product(*kinds)]
    return [pair for pair in pairs if pair != bases.default_pair()]


def _passes(check: Check, base: str, part: str) -> None:
    check.run([places.TOP / "vlwp", "test", part, f"--base={base}"])


def _goes_to_other_kernels(check: Check) -> None:
    """Live, there and back, between two hosts of the nested lab."""
    check.run([places.TOP / "vlwp", "soak", "migrate", "pair_kernels"])


def _goes(check: Check, source: str, destination: str) -> None:
    """Points and hops from one QEMU to the other, of a machine type that both have."""
    emulators = []
    for series in (source, destination):
        check.run([places.TOP / "vlwp", "build", "qemu", f"--base=qemu-{series}"])
        emulators.append(places.BUILD / bases.of_qemu("qemu", series) / "qemu-system-x86_64")
    options = [f"--qemu={emulators[0]}", f"--into-qemu={emulators[1]}", f"--kind=pc-q35-{bases.default_qemu()}"]
    for part, count in (("points", POINTS), ("live", HOPS)):
        check.run(alone(part, f"--count={count}", f"--seed={seeds.draw()}", f"--jobs={jobs_count()}", *options))


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    wanted = args.parts or [*PARTS, *([] if args.only else ["across"])]
    if "across" in wanted:
        TEST_PARTS["migrate"].prepare()
    with run_directory() as run:
        report = Report(Path(run))
        for base, part in itertools.product([args.only] if args.only else combinations(), PARTS):
            if part in wanted:
                report.check(f"{base}: test {part}", _passes, base, part)
        series = [name.removeprefix("qemu-") for name in bases.names() if name.startswith("qemu-")]
        for source, destination in itertools.permutations(series, 2):
            if "across" in wanted:
                report.check(f"profiled guests go from QEMU {source} to {destination}", _goes, source, destination)
        if "across" in wanted:
            report.check("profiled guests go from one kernel's KVM to the other's and back", _goes_to_other_kernels)
        return report.end()
