# SPDX-License-Identifier: GPL-2.0-or-later
"""Optimisers with a profile of LWP: gcc with a small program, and Lua, rebuilt by gcc, clang and BOLT: instructions and
time before and after, beside the same with an instrumented profile. A share is the part of the instrumented profile's
gain. Lua stands for sqlite3, whose one large file the archive does not have: Tcl makes it of the source there."""

import re
import shutil
from pathlib import Path

import pytest

from lab.common import archive, proc
from lab.common.places import LAB
from lab.guest.vm import GUEST_SHARE
from lab.tests.conftest import good
from lab.tests.linux import pgo
from lab.tests.linux.tools import VLWP
from lab.tests.plugin import Tell

HERE = LAB / "tests/linux"
SMALL = pgo.Program(HERE / "pgo-small.c", (), ("10000",))
SOURCE = "lua5.4"
ENOUGH = 0.5  # of the gain of the instrumented profile, for one of them
# BOLT 19 cannot move the code of computed jumps.
OPTIONS = ("-DLUA_USE_POSIX", "-DLUA_USE_JUMPTABLE=0", "-Isrc", "-lm", "-ldl")
RUNS = ("base", "sampled", "instrumented")


def need(optimiser: pgo.Optimiser) -> None:
    """Skip if this machine does not have its programs."""
    if gone := pgo.missing(optimiser):
        pytest.skip(f"there is no {', '.join(gone)}: see autofdo, llvm-19, bolt-19")


@pytest.mark.soak
def test_pgo(tmp_path: Path) -> None:
    """gcc -fauto-profile lays a program out by windows of branches: the small interpreter takes fewer branches
    afterwards, and prints the same."""
    gcc = pgo.OPTIMISERS[0]
    need(gcc)
    gcc.base(SMALL, tmp_path)
    # It is too short for many windows: all of them, so that the profile is the same each time.
    gcc.sampled(SMALL, tmp_path, pgo.record(SMALL, tmp_path, "--windows=all"))
    outputs = [proc.output([tmp_path / name, *SMALL.arguments]) for name in ("base", "sampled")]
    assert outputs[0] == outputs[1]
    base, sampled = (pgo.taken(SMALL, tmp_path / name) for name in ("base", "sampled"))
    assert sampled < 0.95 * base, f"{base} taken branches, {sampled} with the profile"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with what each reader wants, and branch stacks of the whole guest that ran it."""
    if not shutil.which("perf"):
        pytest.skip("there is no perf: see linux-perf")
    work = tmp_path_factory.mktemp("whole")
    base = work / "base"
    good(["clang", "-O2", "-g", "-gdwarf-4", "-fdebug-info-for-profiling", "-Wl,-q", SMALL.source, "-o", base])
    script = "sysctl -q -w kernel.perf_cpu_time_max_percent=0; exec perf record -q -a -b -N -e rc4 -c 1009"
    words = ["sh", "-c", f"{script} -o {GUEST_SHARE}/perf.data -- {base} 30000"]
    good([VLWP, "shell", "--pmu", f"--share={work}", "--", *words])
    return work


@pytest.mark.xdist_group("whole")
def test_whole_branches(whole: Path) -> None:
    """perf record -a -b has branches in user mode and in the kernel."""
    text = good(["perf", "script", "-F", "brstack", "-i", whole / "perf.data"])
    pairs = [[int(one, 16) >> 63 for one in found] for found in re.findall(r"(0x[0-9a-f]+)/(0x[0-9a-f]+)/", text)]
    assert pairs.count([0, 0]) > 1000 and pairs.count([1, 1]) > 1000


# What reads them, with a profile of the program as result, and how that names its hottest function.
READERS: dict[str, tuple[list[proc.Word], str]] = {
    "create_llvm_prof": (["create_llvm_prof", "--binary={0}/base", "--profile={0}/perf.data", "--out={0}/out",
                          "--format=text"], r"^execute:[0-9]{5,}:"),
    "llvm-profgen": ([pgo.LLVM / "llvm-profgen", "--binary={0}/base", "--perfdata={0}/perf.data", "--output={0}/out",
                      "--format=text"], r"^execute:[0-9]{5,}:"),
    "perf2bolt": ([pgo.LLVM / "perf2bolt", "-p", "{0}/perf.data", "-o", "{0}/out", "{0}/base"],
                  r"^1 execute/1 \w+ 1 execute/1 \w+ 0 [0-9]{3,}$"),
}


@pytest.mark.xdist_group("whole")
@pytest.mark.parametrize("name", READERS)
def test_whole_reader(name: str, whole: Path) -> None:
    """Who makes profiles for compilers reads the program's part of them."""
    words, hot = READERS[name]
    if not shutil.which(str(words[0])):
        pytest.skip(f"there is no {words[0]}: see autofdo, llvm-19, bolt-19")
    good([str(word).format(whole) for word in words])
    assert re.search(hot, (whole / "out").read_text(encoding="utf-8", errors="replace"), re.MULTILINE)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lua's source from the Debian archive."""
    archive.update()
    files = archive.source_package(f"{SOURCE}={archive.source_versions(SOURCE)[-1]}")
    (tar,) = (file for file in files if ".orig." in file.name and not file.name.endswith(".asc"))
    work = tmp_path_factory.mktemp("lua")
    good(["tar", "-xf", tar, "-C", work, "--strip-components=1"])
    return work / "src"


@pytest.fixture(scope="module")
def shares() -> list[float]:
    """Of all optimisers."""
    return []


@pytest.mark.soak
@pytest.mark.xdist_group("lua")
@pytest.mark.parametrize("optimiser", pgo.OPTIMISERS, ids=[optimiser.name for optimiser in pgo.OPTIMISERS])
def test_lua(optimiser: pgo.Optimiser, source: Path, shares: list[float], tmp_path: Path, tell: Tell) -> None:
    """Lua rebuilt with an optimiser: before; with a profile of LWP; with an instrumented one."""
    need(optimiser)
    shutil.copytree(source, tmp_path / "src")
    main, script = Path(shutil.copy(HERE / "pgo-lua.c", tmp_path)), str(HERE / "pgo-train.lua")
    program, longer = (pgo.Program(main, OPTIONS, (script, rounds)) for rounds in ("5", "20"))
    optimiser.base(program, tmp_path)
    optimiser.sampled(program, tmp_path, pgo.record(program, tmp_path))
    optimiser.instrumented(program, tmp_path)
    counts = [pgo.instructions(program, tmp_path / name) for name in RUNS]
    times = [pgo.seconds(longer, tmp_path / name) for name in RUNS]
    shares += [pgo.share(*counts), pgo.share(*times)]
    tell(f"instructions {' '.join(f'{n:,}' for n in counts)}: share {shares[-2]:.0%}")
    tell(f"seconds {' '.join(f'{t:.4f}' for t in times)}: share {shares[-1]:.0%}")


@pytest.mark.soak
@pytest.mark.xdist_group("lua")
def test_lua_gain(shares: list[float]) -> None:
    """One profile gains at least half of what an instrumented one gains."""
    assert max(shares, default=0) >= ENOUGH, f"shares {shares}"
