# SPDX-License-Identifier: GPL-2.0-or-later
"""Optimisers that a profile of LWP feeds: windows of branches from a guest without PMU become what gcc, clang and BOLT
read. Beside it stands the same with a profile that the program itself counts (instrumented)."""

import json
import resource
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.common import proc
from lab.common.places import LWPCTL, TOP
from lab.common.report import Check, Report

LLVM = Path("/usr/lib/llvm-19/bin")  # perf2bolt of /usr/bin runs as llvm-bolt
TIMES = 7  # the least of so many is the time
NAMES_TAG = 0xAA000000  # the section of create_gcov's file that has strings


@dataclass(frozen=True)
class Program:
    """What is optimised: its source and the compiler's options for it; the arguments of a run."""

    source: Path
    options: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Optimiser:
    """Who reads the profile. A build function makes the program in a folder: base, sampled (from the profile that is
    given) or instrumented."""

    name: str
    needs: tuple[str | Path, ...]
    base: Callable[[Check, Program, Path], None]
    sampled: Callable[[Check, Program, Path, Path], None]
    instrumented: Callable[[Check, Program, Path], None]


def _compile(check: Check, compiler: str, program: Program, out: Path, *options: str) -> None:
    words: list[str | Path] = [compiler, "-O2", "-g", "-gdwarf-4", *options]
    check.run([*words, program.source, "-o", out, *program.options], cwd=out.parent)


def _run(check: Check, program: Program, built: Path, **options: object) -> None:
    check.run([built, *program.arguments], cwd=built.parent, **options)


def _export(check: Check, data: Path, form: str, out: Path) -> None:
    check.run([LWPCTL, "export", f"--format={form}", "--object=base", "-o", out, data])


# ---- gcc -----------------------------------------------------------------------------------------


def in_bytes(profile: bytes) -> bytes:
    """create_gcov 0.19 says how long strings are in words, as gcc did up to version 11; since then it is bytes."""
    words = bytearray(profile)
    at = next(at for at in range(0, 64, 4) if struct.unpack_from("<I", words, at)[0] == NAMES_TAG)
    (count,) = struct.unpack_from("<I", words, at + 8)
    at += 12
    for _ in range(count):
        (length,) = struct.unpack_from("<I", words, at)
        struct.pack_into("<I", words, at, 4 * length)
        at += 4 + 4 * length
    return bytes(words)


def _gcc_base(check: Check, program: Program, work: Path) -> None:
    _compile(check, "gcc", program, work / "base")


def _gcc_sampled(check: Check, program: Program, work: Path, data: Path) -> None:
    text, raw, profile = (work / f"gcc.{end}" for end in ("txt", "raw", "afdo"))
    _export(check, data, "afdo", text)
    options = [f"--profile={text}", "--profiler=text", f"--gcov={raw}", "--gcov_version=2"]
    check.run(["create_gcov", f"--binary={work / 'base'}", *options])
    profile.write_bytes(in_bytes(raw.read_bytes()))
    _compile(check, "gcc", program, work / "sampled", f"-fauto-profile={profile}")


def _gcc_instrumented(check: Check, program: Program, work: Path) -> None:
    # gcc finds the counts of a function under the name of the output.
    out = work / "instrumented"
    _compile(check, "gcc", program, out, "-fprofile-generate")
    _run(check, program, out)
    check.want((work / f"instrumented-{program.source.stem}.gcda").exists(), "nothing was counted")
    _compile(check, "gcc", program, out, "-fprofile-use", "-Wno-missing-profile")


# ---- clang ---------------------------------------------------------------------------------------


def _clang_base(check: Check, program: Program, work: Path) -> None:
    _compile(check, "clang", program, work / "base", "-fdebug-info-for-profiling")


def _clang_sampled(check: Check, program: Program, work: Path, data: Path) -> None:
    perf, profile = work / "clang.perf", work / "clang.prof"
    _export(check, data, "perf", perf)
    options = [f"--perfdata={perf}", f"--output={profile}", "--format=text"]
    check.run([LLVM / "llvm-profgen", f"--binary={work / 'base'}", *options])
    options = ["-fdebug-info-for-profiling", f"-fprofile-sample-use={profile}"]
    _compile(check, "clang", program, work / "sampled", *options)


def _clang_instrumented(check: Check, program: Program, work: Path) -> None:
    raw, profile = work / "clang.raw", work / "clang.counted"
    _compile(check, "clang", program, work / "counting", "-fprofile-generate")
    _run(check, program, work / "counting", env={"LLVM_PROFILE_FILE": str(raw)})
    check.run(["llvm-profdata", "merge", raw, "-o", profile])
    _compile(check, "clang", program, work / "instrumented", f"-fprofile-use={profile}")


# ---- BOLT ----------------------------------------------------------------------------------------

BOLT_OPTIONS = ("-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions", "-split-all-cold")


def _bolt_base(check: Check, program: Program, work: Path) -> None:
    _compile(check, "gcc", program, work / "base", "-Wl,-q", "-fno-reorder-blocks-and-partition")


def _bolt(check: Check, work: Path, out: str, profile: Path) -> None:
    check.run([LLVM / "llvm-bolt", work / "base", f"-data={profile}", "-o", work / out, *BOLT_OPTIONS])


def _bolt_sampled(check: Check, _program: Program, work: Path, data: Path) -> None:
    perf, profile = work / "bolt.perf", work / "bolt.fdata"
    _export(check, data, "perf", perf)
    check.run([LLVM / "perf2bolt", "-p", perf, "-o", profile, work / "base"])
    _bolt(check, work, "sampled", profile)


def _bolt_instrumented(check: Check, program: Program, work: Path) -> None:
    counting, profile = work / "counting", work / "bolt.counted"
    check.run([LLVM / "llvm-bolt", work / "base", "-instrument", f"-instrumentation-file={profile}", "-o", counting])
    _run(check, program, counting)
    _bolt(check, work, "instrumented", profile)


OPTIMISERS = (
    Optimiser("gcc", ("gcc", "create_gcov"), _gcc_base, _gcc_sampled, _gcc_instrumented),
    Optimiser(
        "clang", ("clang", "llvm-profdata", LLVM / "llvm-profgen"), _clang_base, _clang_sampled, _clang_instrumented
    ),
    Optimiser("bolt", (LLVM / "perf2bolt", LLVM / "llvm-bolt"), _bolt_base, _bolt_sampled, _bolt_instrumented),
)


def missing(optimiser: Optimiser) -> list[str]:
    """Which of its programs this machine does not have."""
    return [str(name) for name in optimiser.needs if not shutil.which(str(name))]


# ---- Measuring -----------------------------------------------------------------------------------


def record(check: Check, program: Program, work: Path, windows: str = "--windows") -> Path:
    """Windows of branches of the base, from a guest."""
    data = work / "windows.data"
    options = [f"--lwprun={windows}", f"--data={data}", "--report-file=/dev/null"]
    check.run([TOP / "vlwp", "run", *options, "--", str(work / "base"), *program.arguments])
    return data


def _count(check: Check, program: Program, built: Path, event: str, *options: str) -> int:
    status, text = check.text([TOP / "vlwp", "count", "--json", *options, "--", str(built), *program.arguments])
    check.want(status == 0, f"count ends with status {status}")
    return int(json.loads(text[text.rindex('{\n  "command"'):])["runs"][0][event])


def instructions(check: Check, program: Program, built: Path) -> int:
    """What it executes, exactly."""
    return _count(check, program, built, "instructions")


def taken(check: Check, program: Program, built: Path) -> int:
    """Branches that it takes, exactly."""
    return _count(check, program, built, "taken-branches", "--taken")


def seconds(program: Program, built: Path) -> float:
    """The least time in user mode."""
    times = []
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        proc.output([built, *program.arguments])
        times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(times)


def share(base: float, sampled: float, instrumented: float) -> float:
    """Which part of what the instrumented profile saves the sampled one saves; 0 if that is less than a hundredth."""
    return (base - sampled) / (base - instrumented) if base - instrumented > base / 100 else 0


LINE = "gcc -fauto-profile lays a program out by windows of branches"
SMALL = Program(TOP / "lab/testing/pgo-small.c", (), ("100000",))


def small(check: Check) -> None:
    """The small interpreter takes fewer branches afterwards, and prints the same."""
    gcc, work = OPTIMISERS[0], check.work / "pgo"
    work.mkdir()
    gcc.base(check, SMALL, work)
    # It is too short for many windows: all of them, so that the profile is the same each time.
    gcc.sampled(check, SMALL, work, record(check, SMALL, work, "--windows=all"))
    outputs = [proc.output([work / name, *SMALL.arguments]) for name in ("base", "sampled")]
    check.want(outputs[0] == outputs[1], f"they print {outputs}")
    base, sampled = (taken(check, SMALL, work / name) for name in ("base", "sampled"))
    check.say(f"{base} taken branches, {sampled} with the profile")
    check.want(sampled < 0.95 * base, f"{base} taken branches, {sampled} with the profile")


def run(report: Report) -> None:
    """It needs create_gcov."""
    gone = missing(OPTIMISERS[0])
    if gone:
        report.skip(f"{LINE}: there is no {gone[0]}")
    else:
        report.check(LINE, small)
