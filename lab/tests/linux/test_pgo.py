# SPDX-License-Identifier: GPL-2.0-or-later
"""Optimisers with a profile of a guest. gcc lays out a small program. Lua is rebuilt by gcc, two versions of
clang and BOLT, sqlite3, zstd and perl by the two of clang: instructions before and after, beside the same with an
instrumented profile. A share is the part of the instrumented profile's gain."""

import inspect
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.common import archive, proc
from lab.common.places import LAB
from lab.guest.vm import GUEST_SHARE
from lab.tests.conftest import good
from lab.tests.linux import pgo
from lab.tests.linux.tools import VLWP
from lab.tests.plugin import Points, Tell
from lab.tests.soak.test_same_twice import Kept

HERE = LAB / "tests/linux"
SMALL = pgo.Program((HERE / "pgo-small.c",), (), ("10000",))
ENOUGH, OF = 0.85, 3  # of the instrumented profile's gain, so many programs by one optimiser or another
PROFILES = 2  # of each program: how far apart their shares are is the error
RUNS = ("base", *(f"sampled{n}" for n in range(PROFILES)), "instrumented")


@dataclass(frozen=True)
class Source:
    """A program of the archive: its source package; what makes the files that are compiled, and their patterns; options
    of the compiler; the arguments with which it is trained and measured, in the folder of the source."""

    package: str
    setup: str
    files: tuple[str, ...]
    options: tuple[str, ...]
    arguments: tuple[str, ...]
    needs: str = "make"


SOURCES = {
    # No hash begins with a random number. BOLT 19 cannot move the code of computed jumps.
    "lua": Source("lua5.4", f"cp {HERE}/pgo-lua.c src", ("src/pgo-lua.c",),
                  ("-DLUA_USE_POSIX", "-Dluai_makeseed(L)=1", "-DLUA_USE_JUMPTABLE=0", "-lm", "-ldl"),
                  (f"{HERE}/pgo-train.lua", "5")),
    "sqlite3": Source("sqlite3", "./configure && make sqlite3.c shell.c", ("shell.c", "sqlite3.c"),
                      ("-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-lm"),
                      (":memory:", f".read {HERE}/pgo-train.sql"), "tclsh"),
    "zstd": Source("libzstd", "cat lib/compress/*.c lib/decompress/*.c >text",
                   ("programs/*.c", "lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c", "lib/dictBuilder/*.c"),
                   ("-DZSTD_DISABLE_ASM", "-DXXH_NAMESPACE=ZSTD_"), ("-9", "-c", "text")),
    "perl": Source("perl", "sh Configure -des -Doptimize=-O0 && make miniperl && rm -f generate_uudmap.*", ("*.o",),
                   ("-DPERL_CORE", "-DPERL_IS_MINIPERL", "-DNO_HASH_SEED", "-fwrapv", "-fno-strict-aliasing", "-lm",
                    "-lcrypt"), (f"{HERE}/pgo-train.pl",)),
}
BUILDS = [(name, one) for name in SOURCES for one in pgo.OPTIMISERS if name == "lua" or one.name in pgo.CLANGS]


def need(optimiser: pgo.Optimiser) -> None:
    """Skip if this machine does not have its programs."""
    if gone := pgo.missing(optimiser):
        pytest.skip(f"there is no {', '.join(gone)}: see autofdo, clang-19, llvm-19, bolt-19")


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
    good(["clang", "-O2", "-g", "-gdwarf-4", "-fdebug-info-for-profiling", "-Wl,-q", *SMALL.sources, "-o", base])
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
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the sources that have been unpacked and made ready."""
    return {"": tmp_path_factory.mktemp("sources")}


def _source(name: str, places: dict[str, Path]) -> Path:
    """The source of a program, of the Debian archive."""
    source, place = SOURCES[name], places[""] / name
    if not shutil.which(source.needs):
        pytest.skip(f"there is no {source.needs}")
    if name not in places:
        archive.update()
        version = archive.source_versions(source.package)[0]
        files = archive.source_package(f"{source.package}={version}", "--tar-only")
        place.mkdir()
        good(["tar", "-C", place, "--strip-components=1", "-xf", *(file for file in files if ".orig.tar" in file.name)])
        good(["sh", "-ec", source.setup], cwd=place)
        places[name] = place
    return place


def _program(source: Source, place: Path) -> pgo.Program:
    """What is compiled, of a source that has been made ready."""
    files = [path.with_suffix(".c") for pattern in source.files for path in sorted(place.glob(pattern))]
    assert files
    return pgo.Program(tuple(files), source.options, source.arguments)


@pytest.fixture(scope="module")
def shares() -> dict[str, list[float]]:
    """Of each program those of its optimisers, in the worst of the profiles."""
    return {name: [] for name in SOURCES}


def _measured(optimiser: pgo.Optimiser, program: pgo.Program, work: Path) -> tuple[str, list[int]]:
    """What differs between the outputs of a program that is built with and without profiles; the instructions."""
    optimiser.base(program, work)
    for name in RUNS[1:-1]:
        optimiser.sampled(program, work, pgo.record(program, work, "--windows=128:4096", f"--seed={name[-1]}"))
        (work / "sampled").rename(work / name)
    optimiser.instrumented(program, work)
    outputs = {name: proc.output([work / name, *program.arguments], errors="surrogateescape") for name in RUNS}
    other = [name for name in RUNS if outputs[name] != outputs["base"]]
    return " ".join(other), [pgo.instructions(program, work / name) for name in RUNS]


@pytest.fixture
def kept(pytestconfig: pytest.Config, points: Points, name: str) -> Kept:
    """The results of --resume: how a program is built and measured counts, too."""
    row = repr(SOURCES[name]).replace(str(HERE), "")
    files = [HERE / "pgo.py", *(path for path in sorted(HERE.glob("pgo-*")) if path.name in row)]
    own = [row, inspect.getsource(_measured), *(path.read_text(encoding="utf-8") for path in files)]
    return Kept(pytestconfig.getoption("--results"), points, "".join(own))


@pytest.mark.soak
@pytest.mark.xdist_group("pgo")
@pytest.mark.parametrize("name, optimiser", BUILDS, ids=[f"{name}-{one.name}" for name, one in BUILDS])
def test_share(
    name: str, optimiser: pgo.Optimiser, sources: dict[str, Path], shares: dict[str, list[float]], kept: Kept,
    tmp_path: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program rebuilt with an optimiser: before; with profiles of a guest; with an instrumented one."""
    need(optimiser)
    line = kept.stands(what := f"{name} {optimiser.name}")
    if not line:
        program = _program(SOURCES[name], place := _source(name, sources))
        monkeypatch.chdir(place)
        wrong, counts = _measured(optimiser, program, tmp_path)
        got = [pgo.share(counts[0], count, counts[-1]) for count in counts[1:-1]]
        line = f"{' '.join(map(str, counts))} instructions: share {min(got):.1%} to {max(got):.1%}"
        kept.add(what, wrong and f"another output of {wrong}", line)
        assert not wrong
    tell(line)
    found = re.search(r"share (-?[0-9.]+)%", line)
    assert found
    shares[name].append(float(found[1]) / 100)


@pytest.mark.soak
@pytest.mark.xdist_group("pgo")
def test_share_enough(shares: dict[str, list[float]]) -> None:
    """Profiles of a guest gain nearly what instrumented ones gain."""
    enough = [name for name, got in shares.items() if max(got, default=0) >= ENOUGH]
    assert len(enough) >= OF, f"shares {shares}"
