# SPDX-License-Identifier: GPL-2.0-or-later
"""The x86 KVM selftests of the lab's kernel with its own modules and with ours, compared test by test."""

import argparse
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lab.building import linux
from lab.common import proc
from lab.common.options import number
from lab.common.places import BUILD, LAB
from lab.common.say import Died
from lab.common.steps import build_lock, fresh, jobs_count, make_dir, need_space, stamp, step
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.nested import l1
from lab.nested.l1 import L1
from lab.start import deps

WORK = BUILD / "selftests"
RUN = WORK / "run"
IN_L1 = LAB / "nested/selftests-l1.sh"
FEWEST = 20  # that must build
SKIPS = "4"  # the exit status of a test that skips itself
MISSING = "missing"


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("names", nargs="*", metavar="TEXT", help="only selftests whose names contain TEXT")
    limit = "of each (120); the status of one that takes longer is 124"
    parser.add_argument("--limit", type=number(1, 3600), default=120, metavar="SECONDS", help=limit)


def _build(source: Path, log: IO[str]) -> None:
    """What does not build without packages that nothing else here needs is left out: make goes on."""
    headers, tests = WORK / "headers", WORK / "tests"
    make = ["make", "-C", str(source), f"O={headers}", "ARCH=x86_64", "headers"]
    if proc.logged(make, log) == 0:
        where = [f"OUTPUT={tests}", f"LINUX_HDR_PATH={headers}/usr/include"]
        flags = [f"KHDR_INCLUDES=-isystem {headers}/usr/include", "LDFLAGS=-pthread -static -no-pie"]
        folder = source / "tools/testing/selftests/kvm"
        proc.logged(["make", "-k", "-j", str(jobs_count()), "-C", folder, "ARCH=x86_64", *where, *flags], log)
    make_dir(RUN)
    for folder in (tests / "x86_64", tests):
        for file in folder.iterdir() if folder.is_dir() else ():
            if file.is_file() and not file.is_symlink() and os.access(file, os.X_OK):
                shutil.copy(file, RUN)
    if len(list(RUN.iterdir())) < FEWEST:
        raise Died(f"fewer than {FEWEST} tests build")


def _run(stock: bool, limit: int, names: Sequence[str]) -> None:
    """Run them in L1; what each has said is in WORK/logs-STOCK."""
    output, logs = WORK / f"output-{int(stock)}", WORK / f"logs-{int(stock)}"
    with run_directory() as run, output.open("w", encoding="utf-8") as out:
        (run / "share/logs").mkdir()
        lab = L1(smp=2, memory=3072, stock=stock)
        l1.boot(lab, run, [IN_L1, RUN, f"{GUEST_SHARE}/logs", str(limit), *names], stdin=subprocess.DEVNULL, stdout=out)
        shutil.rmtree(logs, ignore_errors=True)
        shutil.copytree(run / "share/logs", logs)
    if "all done" not in output.read_text(encoding="utf-8").splitlines():
        raise Died("they did not come to their end")


def results(output: str) -> dict[str, str]:
    """The exit status of each test."""
    return dict(line.split(" ", 1) for line in output.splitlines() if line != "all done")


@dataclass(frozen=True)
class Compared:
    """One test's exit status with either modules."""

    name: str
    stock: str
    ours: str

    def line(self) -> str:
        """A row of the table."""
        differs = "" if self.stock == self.ours else "   DIFFERS"
        return f"{self.name:<40} {self.stock:>8} {self.ours:>8}{differs}"


def compare(stock: dict[str, str], ours: dict[str, str]) -> list[Compared]:
    """All tests, by name."""
    names = sorted(set(stock) | set(ours))
    return [Compared(name, stock.get(name, MISSING), ours.get(name, MISSING)) for name in names]


def _tell(tests: list[Compared]) -> int:
    """The table and the sums. Result: the exit status."""
    print(f"{'selftest (exit status)':<40} {'stock':>8} {'ours':>8}")
    for test in tests:
        print(test.line())
    passed, skipped = (sum(test.stock == status for test in tests) for status in ("0", SKIPS))
    differ = sum(test.stock != test.ours for test in tests)
    skips = f"{passed} pass and {skipped} skip themselves with stock modules"
    print(f"{len(tests)} selftests: {skips}; {differ} differ with ours", flush=True)
    return int(differ > 0 or not tests)


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    l1.prepare()
    with build_lock("selftests"):
        need_space(4000)
        base = linux.fetch()
        whole = linux.fetch_all(base)
        if not fresh("selftests", base.version):
            step("building the KVM selftests", "selftests-build", lambda log: _build(whole, log))
            stamp("selftests", base.version)
        stock = "running them with the kernel's own modules"
        step(stock, "selftests-stock", lambda log: _run(True, args.limit, args.names))
        step("running them with ours", "selftests-ours", lambda log: _run(False, args.limit, args.names))
        output = [results((WORK / f"output-{n}").read_text(encoding="utf-8")) for n in (1, 0)]
        return _tell(compare(*output))
