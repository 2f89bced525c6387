# SPDX-License-Identifier: GPL-2.0-or-later
"""Lua, profiled in a guest without PMU and rebuilt by gcc, clang and BOLT with that profile: instructions and time
before and after, beside the same with an instrumented profile. The share is the part of the instrumented profile's
gain. Lua stands for sqlite3, whose one large file the archive does not have: Tcl makes it of the source there."""

import argparse
import shutil
from pathlib import Path

from lab.common import archive
from lab.common.places import TOP
from lab.common.report import Check, Report
from lab.soaks import in_guests
from lab.testing import pgo

SOURCE = "lua5.4"
ENOUGH = 0.5  # of the gain of the instrumented profile, for one of them
# BOLT 19 cannot move the code of computed jumps.
OPTIONS = ("-DLUA_USE_POSIX", "-DLUA_USE_JUMPTABLE=0", "-Isrc", "-lm", "-ldl")
RUNS = ("base", "sampled", "instrumented")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    in_guests.add_names(parser, "optimisers", [optimiser.name for optimiser in pgo.OPTIMISERS])


def _unpack(check: Check) -> None:
    """Lua's source from the Debian archive, in src/."""
    archive.update()
    files = archive.source_package(f"{SOURCE}={archive.source_versions(SOURCE)[-1]}")
    (tar,) = (file for file in files if ".orig." in file.name and not file.name.endswith(".asc"))
    check.run(["tar", "-xf", tar, "-C", check.work, "--strip-components=1"])


def _try(check: Check, report: Report, optimiser: pgo.Optimiser, shares: list[float]) -> None:
    work = check.work / optimiser.name
    work.mkdir()
    shutil.copytree(check.work / "src", work / "src")
    source = shutil.copy(TOP / "lab/soaks/pgo-lua.c", work)
    script = str(TOP / "lab/soaks/pgo-train.lua")
    program = pgo.Program(Path(source), OPTIONS, (script, "5"))
    optimiser.base(check, program, work)
    optimiser.sampled(check, program, work, pgo.record(check, program, work))
    optimiser.instrumented(check, program, work)
    longer = pgo.Program(program.source, program.options, (script, "20"))
    counts = [pgo.instructions(check, program, work / name) for name in RUNS]
    times = [pgo.seconds(longer, work / name) for name in RUNS]
    of_counts, of_times = pgo.share(*counts), pgo.share(*times)
    shares += [of_counts, of_times]
    report.line(f"{optimiser.name}: instructions {' '.join(f'{n:,}' for n in counts)}: share {of_counts:.0%}", 8)
    report.line(f"{optimiser.name}: seconds {' '.join(f'{t:.4f}' for t in times)}: share {of_times:.0%}", 8)


def main(args: argparse.Namespace) -> int:
    """The command."""
    shares: list[float] = []
    with in_guests.prepared() as report:
        if not report.check(f"the source of {SOURCE}", _unpack):
            return report.end()
        report.line("before; with a profile of LWP; with an instrumented one", 8)
        for optimiser in pgo.OPTIMISERS:
            gone = pgo.missing(optimiser)
            if args.optimisers and optimiser.name not in args.optimisers:
                continue
            if gone:
                report.skip(f"{optimiser.name}: there is no {', '.join(gone)}: see autofdo, llvm-19, bolt-19")
            else:
                report.check(f"Lua rebuilt with {optimiser.name}", _try, report, optimiser, shares)
        report.check(
            f"one profile gains at least {ENOUGH:.0%} of what an instrumented one gains",
            lambda check: check.want(max(shares, default=0) >= ENOUGH, f"shares {shares}"),
        )
        return report.end()
