# SPDX-License-Identifier: GPL-2.0-or-later
"""Optimisers that a profile of LWP feeds: windows of branches from a guest without PMU become what gcc, clang and BOLT
read. Beside it stands the same with a profile that the program itself counts (instrumented)."""

import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab.common.places import LWPCTL
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP, parted

LLVM = Path("/usr/lib/llvm-19/bin")  # perf2bolt of /usr/bin runs as llvm-bolt
NAMES_TAG = 0xAA000000  # the section of create_gcov's file that has strings


@dataclass(frozen=True)
class Program:
    """What is optimised: its sources and the compiler's options for them; the arguments of a run."""

    sources: tuple[Path, ...]
    options: tuple[str, ...]
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Optimiser:
    """Who reads the profile. A build function makes the program in a folder: base, sampled (from the profile that is
    given) or instrumented."""

    name: str
    needs: tuple[str | Path, ...]
    base: Callable[[Program, Path], None]
    sampled: Callable[[Program, Path, Path], None]
    instrumented: Callable[[Program, Path], None]


def _compile(compiler: str, program: Program, out: Path, *options: str) -> None:
    words: list[str | Path] = [compiler, "-O2", "-g", "-gdwarf-4", *options]
    good([*words, *program.sources, "-o", out, *program.options])


def _run(program: Program, built: Path, **options: object) -> None:
    good([built, *program.arguments], **options)


def _export(data: Path, form: str, out: Path) -> None:
    good([LWPCTL, "export", f"--format={form}", "--object=base", "-o", out, data])


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


def _gcc_base(program: Program, work: Path) -> None:
    _compile("gcc", program, work / "base")


def _gcc_sampled(program: Program, work: Path, data: Path) -> None:
    perf, raw, profile = (work / f"gcc.{end}" for end in ("perf", "raw", "afdo"))
    _export(data, "perf", perf)
    options = [f"--profile={perf}", f"--gcov={raw}", "--gcov_version=2"]
    good(["create_gcov", f"--binary={work / 'base'}", *options])
    profile.write_bytes(in_bytes(raw.read_bytes()))
    _compile("gcc", program, work / "sampled", f"-fauto-profile={profile}")


def _gcc_instrumented(program: Program, work: Path) -> None:
    # gcc finds the counts of a function under the name of the output.
    out = work / "instrumented"
    _compile("gcc", program, out, "-fprofile-generate")
    _run(program, out)
    assert (work / f"instrumented-{program.sources[0].stem}.gcda").exists(), "nothing was counted"
    _compile("gcc", program, out, "-fprofile-use", "-Wno-missing-profile")


# ---- clang ---------------------------------------------------------------------------------------


# The compilers with their llvm-profdata: Debian's default, and that of the other programs of LLVM here.
CLANGS = {"clang": Path("llvm-profdata"), "clang-19": LLVM / "llvm-profdata"}


def _clang_base(clang: str, program: Program, work: Path) -> None:
    _compile(clang, program, work / "base", "-fdebug-info-for-profiling")


def _clang_sampled(clang: str, program: Program, work: Path, data: Path) -> None:
    perf, profile = work / "clang.perf", work / "clang.prof"
    _export(data, "perf", perf)
    options = [f"--perfdata={perf}", f"--output={profile}", "--format=text"]
    good([LLVM / "llvm-profgen", f"--binary={work / 'base'}", *options])
    # What was sampled of a function is completed to a flow of counts.
    options = ["-fdebug-info-for-profiling", f"-fprofile-sample-use={profile}", "-mllvm", "-sample-profile-use-profi"]
    _compile(clang, program, work / "sampled", *options)


def _clang_instrumented(clang: str, program: Program, work: Path) -> None:
    raw, profile = work / "clang.raw", work / "clang.counted"
    _compile(clang, program, work / "counting", "-fprofile-generate")
    _run(program, work / "counting", env={"LLVM_PROFILE_FILE": str(raw)})
    good([CLANGS[clang], "merge", raw, "-o", profile])
    _compile(clang, program, work / "instrumented", f"-fprofile-use={profile}")


def _clang(clang: str) -> Optimiser:
    base, sampled = partial(_clang_base, clang), partial(_clang_sampled, clang)
    needs = (clang, CLANGS[clang], LLVM / "llvm-profgen")
    return Optimiser(clang, needs, base, sampled, partial(_clang_instrumented, clang))


# ---- BOLT ----------------------------------------------------------------------------------------

BOLT_OPTIONS = ("-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-split-functions", "-split-all-cold")


def _bolt_base(program: Program, work: Path) -> None:
    _compile("gcc", program, work / "base", "-Wl,-q", "-fno-reorder-blocks-and-partition")


def _bolt(work: Path, out: str, profile: Path) -> None:
    good([LLVM / "llvm-bolt", work / "base", f"-data={profile}", "-o", work / out, *BOLT_OPTIONS])


def _bolt_sampled(_program: Program, work: Path, data: Path) -> None:
    perf, profile = work / "bolt.perf", work / "bolt.fdata"
    _export(data, "perf", perf)
    good([LLVM / "perf2bolt", "-p", perf, "-o", profile, work / "base"])
    _bolt(work, "sampled", profile)


def _bolt_instrumented(program: Program, work: Path) -> None:
    counting, profile = work / "counting", work / "bolt.counted"
    good([LLVM / "llvm-bolt", work / "base", "-instrument", f"-instrumentation-file={profile}", "-o", counting])
    _run(program, counting)
    _bolt(work, "instrumented", profile)


OPTIMISERS = (
    Optimiser("gcc", ("gcc", "create_gcov"), _gcc_base, _gcc_sampled, _gcc_instrumented),
    *map(_clang, CLANGS),
    Optimiser("bolt", (LLVM / "perf2bolt", LLVM / "llvm-bolt"), _bolt_base, _bolt_sampled, _bolt_instrumented),
)


def missing(optimiser: Optimiser) -> list[str]:
    """Which of its programs this machine does not have."""
    return [str(name) for name in optimiser.needs if not shutil.which(str(name))]


# ---- Measuring -----------------------------------------------------------------------------------


def record(program: Program, work: Path, *options: str) -> Path:
    """Windows of branches of the base, from a guest. options: of lwprun."""
    data = work / "windows.data"
    words = [*(f"--lwprun={one}" for one in options), f"--data={data}", "--report-file=/dev/null"]
    good([VLWP, "run", *words, "--", work / "base", *program.arguments])
    return data


def _count(program: Program, built: Path, event: str, *options: str) -> int:
    text = good([VLWP, "count", "--json", *options, "--", built, *program.arguments])
    return int(parted(text)[0]["runs"][0][event])


def instructions(program: Program, built: Path) -> int:
    """What it executes, exactly; without a guest, which would boot twice for each program."""
    return _count(program, built, "instructions", "--process")


def taken(program: Program, built: Path) -> int:
    """Branches that it takes, exactly."""
    return _count(program, built, "taken-branches", "--taken")


def share(base: float, sampled: float, instrumented: float) -> float:
    """Which part of what the instrumented profile saves the sampled one saves; 0 if that is less than a hundredth."""
    return (base - sampled) / (base - instrumented) if base - instrumented > base / 100 else 0
