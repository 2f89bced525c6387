# SPDX-License-Identifier: GPL-2.0-or-later
"""Streams of counters, and streams that nobody would send."""

from pathlib import Path

import pytest

from lab.tests.conftest import Start, run
from lab.tests.flat.kernel import LWP, PMU, STOPPED, bench, symbols
from lab.common.qmp import PATIENCE, Stub, Vm
from lab.testing.suite import PASSED, ROWS, command

INTEL = "Skylake-Client,check=off,pmu=on"
INTEL_STATE = b"cpu/msr_architectural_pmu"
# Its fields, numbers of 64 bits: control of the fixed counters, global control, status, overflow control, three fixed
# counters, eighteen counters, eighteen selects.
INTEL_FIELDS = 4 + 3 + 18 + 18
INTEL_CONTROL, INTEL_SELECT = 1, 4 + 3 + 18
INSTRUCTIONS = 1 << 22 | 1 << 17 | 0xC0  # EN, OS
REGISTERS = 18 * 8  # of a CPU's section, before hflags: sixteen, rIP, RFLAGS


def incoming(vm: Start, cpu: str, path: Path, *words: str) -> Vm:
    """A machine that takes up a stream."""
    return vm(cpu, *words, "-incoming", f"exec:cat {path}")


def loaded(vm: Start, cpu: str, path: Path) -> Vm:
    """One that has taken it up, and stands."""
    it = vm(cpu, STOPPED, "-incoming", "defer")
    assert it.load(path)
    return it


def test_pmu_loaded(vm: Start, tmp_path: Path) -> None:
    """After a load no counter counts that is not enabled."""
    it = vm(PMU, STOPPED)
    assert not it.cpu("x-pmu-counting")
    it.save(tmp_path / "stream")
    assert not loaded(vm, PMU, tmp_path / "stream").cpu("x-pmu-counting")


def fields(stream: bytearray) -> tuple[slice, list[int]]:
    """Where Intel's counters are in a stream, after the version of their section, and what they are."""
    begin = stream.index(INTEL_STATE) + len(INTEL_STATE) + 4
    where = slice(begin, begin + 8 * INTEL_FIELDS)
    return where, [int.from_bytes(stream[at:at + 8], "big") for at in range(where.start, where.stop, 8)]


def test_pmu_intel(vm: Start, tmp_path: Path) -> None:
    """Intel's counters are in QEMU's own subsection, and count after the load of a stream that has them enabled, as a
    KVM host sends it."""
    stream = vm(INTEL, STOPPED).save(tmp_path / "stream")
    where, values = fields(stream)
    assert values[INTEL_CONTROL] == 15 and not any(values[INTEL_CONTROL + 1:])  # as at reset
    values[INTEL_SELECT] = INSTRUCTIONS
    stream[where] = b"".join(value.to_bytes(8, "big") for value in values)
    (tmp_path / "stream").write_bytes(stream)
    it = loaded(vm, INTEL, tmp_path / "stream")
    assert it.cpu("x-pmu-counting")
    assert fields(it.save(tmp_path / "again"))[1] == values


@pytest.mark.parametrize("name, symbol", [("pmu_count", "pmc_code"), ("pmu_intel_count", "pmc_code")])
def test_no_counters(vm: Start, tmp_path: Path, name: str, symbol: str) -> None:
    """A CPU without counters refuses a stream in which they count."""
    argv = command(next(row for row in ROWS if row.name == name))
    it = vm(argv=[*argv, "-S", *Stub.words(tmp_path / "gdb")])
    Stub(tmp_path / "gdb").run_to(symbols()[symbol] + 5)
    it.save(tmp_path / "stream")
    ended = run([*argv, "-global", "x86_64-cpu.x-tcg-pmu=off", "-incoming", f"exec:cat {tmp_path}/stream"], PATIENCE)
    assert ended.status == 1
    assert "the stream has performance counters of TCG, and CPU 0 has none" in ended.err


@pytest.fixture
def stream(vm: Start, tmp_path: Path) -> bytearray:
    """The bench, saved while its program is profiled."""
    it = vm(LWP, *bench(3000))
    while not it.stat("records"):
        pass
    return it.save(tmp_path / "stream")


def section(data: bytearray, name: bytes) -> tuple[int, int]:
    """Where a section of a stream begins and ends: type 4, its number, its name; footer 7Eh and its number."""
    begin = data.index(bytes([len(name)]) + name) - 5
    return begin, data.index(b"\x7e" + data[begin + 1:begin + 5], begin) + 5


def test_hostile_flags(vm: Start, stream: bytearray, tmp_path: Path) -> None:
    """A stream cannot set bits of hflags that only TB flags have."""
    at = section(stream, b"cpu")[0] + 6 + len(b"cpu") + 8 + REGISTERS
    assert stream[at] & 0xe0 == 0
    stream[at] |= 0xe0
    (tmp_path / "stream").write_bytes(stream)
    assert incoming(vm, LWP, tmp_path / "stream", *bench(3000)).wait() == PASSED


def test_hostile_contexts(vm: Start, stream: bytearray, tmp_path: Path) -> None:
    """A stream cannot take away a context that is live: contexts that come once more, after a CPU that has one of
    them, are refused."""
    (begin, end), (_, behind) = section(stream, b"x86-lwp-contexts"), section(stream, b"cpu")
    assert end < behind
    (tmp_path / "stream").write_bytes(stream[:behind] + stream[begin:end] + stream[behind:])
    with pytest.raises(EOFError, match="contexts come after a CPU that has one"):
        it = incoming(vm, LWP, tmp_path / "stream", *bench(3000))
        it.event("nothing")
