# SPDX-License-Identifier: GPL-2.0-or-later
"""kvm-unit-tests under TCG: what unpatched QEMU passes passes, and pmu passes with the counters of each model. VLWP_KUT
names the tree."""

import shutil
import subprocess
from pathlib import Path

import pytest

from lab.building import qemu
from lab.common import places, proc
from lab.common.steps import build_lock, fresh, jobs_count, stamp, step
from lab.testing import kut
from lab.testing.kut import BAD, GOOD, Program, Row
from lab.tests.conftest import machine
from lab.tests.plugin import Points, Tell

pytestmark = pytest.mark.soak
TREE = kut.tree()
NONE = Program("none", "pmu.flat", [], 0)  # stands for those of a tree
PROGRAMS = kut.programs((TREE / kut.LIST).read_text(encoding="utf-8")) if TREE else [NONE]
SLOWER = 2  # a program has so many times the time of the list, on a CPU; more if it sleeps
ASLEEP = 5
DEVICES = ("-device", "pc-testdev", "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-serial", "stdio", "-no-reboot")
# The models of docs/cpu.md that have counters and 64 bits.
AMD = [f"{model}{more}" for model in ("Opteron_G5", "EPYC", "EPYC-Genoa")
       for more in ("", ",+perfctr-core", ",+perfctr-core,+perfmon-v2")]
INTEL = (
    "core2duo Conroe Penryn KnightsMill Nehalem Westmere SandyBridge IvyBridge Haswell Broadwell Skylake-Client "
    "Skylake-Server Cascadelake-Server Cooperlake Denverton Snowridge Icelake-Server SapphireRapids GraniteRapids "
    "SierraForest ClearwaterForest"
).split()


@pytest.fixture(scope="module")
def tree() -> Path:
    """The user's tree if it is built, else a copy that is."""
    if not TREE:
        pytest.skip("needs VLWP_KUT=DIR, a tree of kvm-unit-tests")
    qemu.ensure()
    if all((TREE / "x86" / program.file).is_file() for program in PROGRAMS):
        return TREE
    copy = places.BUILD / "kvm-unit-tests"
    with build_lock(copy.name):
        key = f"{TREE} {max(path.lstat().st_mtime_ns for path in TREE.rglob('*'))}"
        if not fresh(copy.name, key):
            shutil.rmtree(copy, ignore_errors=True)
            made = shutil.ignore_patterns("*.o", "*.a", "*.elf", "*.flat", ".git")
            shutil.copytree(TREE, copy, symlinks=True, ignore=made)
            build = f"./configure --arch=x86_64 && make -j {jobs_count()}"
            step("building kvm-unit-tests", copy.name, ["sh", "-c", build], cwd=copy)
            stamp(copy.name, key)
    return copy


def ended(program: Program, place: Path, out: Path, emulator: Path, *more: str) -> tuple[str, list[Row]]:
    """Run a program of a tree to its end; it prints to OUT. Of several -cpu QEMU takes the last one. Result: why QEMU
    refuses it, if it does, and the rows."""
    words = proc.words(["-kernel", place / "x86" / program.file, *DEVICES, *program.words, *more])
    command = machine("max", *words, qemu=emulator)
    print(proc.quoted(command))
    limit = SLOWER * program.limit
    limited = proc.with_us(["prlimit", f"--cpu={limit}", *command])
    with out.open("wb") as file:
        status = proc.call(limited, limit=ASLEEP * limit, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    text = out.read_text(encoding="utf-8", errors="replace")
    last = text.rstrip().rpartition("\n")[2]
    refused = last if status == 1 and last.startswith(f"{emulator.name}: ") else ""
    return refused, kut.rows(0 if refused else status, text)


def sums(rows: list[Row]) -> tuple[int, int, int]:
    """Passed, failed and skipped rows."""
    good, bad = (sum(verdict in verdicts for verdict, _ in rows) for verdicts in (GOOD, BAD))
    return good, bad, len(rows) - good - bad


@pytest.mark.unpatched
@pytest.mark.parametrize("program", [pytest.param(one, id=one.name) for one in PROGRAMS])
def test_program(program: Program, tree: Path, tmp_path: Path, points: Points, tell: Tell) -> None:
    """A program fails nothing that it passes with unpatched QEMU."""
    refused, stock = ended(program, tree, tmp_path / "stock", places.qemu_base())
    if refused:
        pytest.skip(refused)
    why, ours = ended(program, tree, tmp_path / "ours", places.qemu())
    red, (passed, failed, skipped) = kut.worse(stock, ours), sums(ours)
    tell(f"{program.name}: {passed} passed, {failed} failed, {skipped} skipped; unpatched {sums(stock)}")
    points(passed, len(red), skipped)
    assert not red, "\n".join([why, *red])


@pytest.mark.parametrize("program, cpu", [
    pytest.param(one, cpu, id=f"{one.name}-{cpu}")
    for one in PROGRAMS if one.file.startswith("pmu") for cpu in (*AMD, *INTEL)
])
def test_counters(program: Program, cpu: str, tree: Path, tmp_path: Path, points: Points) -> None:
    """A program for counters fails nothing on a model that has them; pmu itself finds them."""
    # Intel's reference clock is compared with the TSC, which is the host's clock but for -icount.
    clock = ("-icount", "shift=1,sleep=off") if cpu in INTEL else ()
    why, rows = ended(program, tree, tmp_path / "ours", places.qemu(), "-cpu", f"{cpu},check=off,pmu=on", *clock)
    if "unable to find CPU model" in why:
        pytest.skip(why)
    passed, failed, skipped = sums(rows)
    points(passed, failed, skipped)
    red = [text for verdict, text in rows if verdict in BAD]
    assert not red and (passed or program.file != "pmu.flat"), "\n".join([why, *red])
