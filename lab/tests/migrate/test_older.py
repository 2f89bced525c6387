# SPDX-License-Identifier: GPL-2.0-or-later
"""Streams that the QEMU of an older commit has saved: flat tests, stopped in the middle of a period or of what a
counter counts. Each test knows the records and counts that follow, and passes in this tree's QEMU. A stream is saved
once, and stays beside the older QEMU."""

import zlib
from pathlib import Path

import pytest

from lab.common import places
from lab.common.qmp import Stub
from lab.common.steps import make_dir
from lab.testing.suite import IMAGE, PASSED, ROWS
from lab.tests.conftest import Start
from lab.tests.flat.kernel import symbols

LWP, PARKED, PMU = ("x-lwp-state", "idle"), ("x-lwp-state", "off"), ("x-pmu-counting", True)
# A row, the symbol that it comes to for the first time, bytes after it; a property of the CPU, and what it says there.
STOPS = (
    ("random", "rnd_first", 501, LWP), ("context_auto", "lwp_slwpcb", 0, PARKED), ("os_xsave", "lwp_slwpcb", 0, LWP),
    ("rev07_llwpcb", "l07_again", 6, LWP), ("os_rev07", "lwp_nop_1", 1, LWP), ("dcache", "dc_period_1", 0, LWP),
    ("pmu_overflow_lwp", "pmo_lwp_first", 4, LWP), ("pmu_count", "pmc_code", 5, PMU), ("pmu_lbr", "lbr_f", 0, PMU),
    ("pmu_overflow", "pmo_code", 3, PMU), ("pmu_overflow_skid", "pmo_code", 9, PMU), ("pmu_ibs", "ibs_fill", 100, PMU),
    ("pmu_predictor", "prd_top", 0, PMU), ("pmu_irperf", "irp_code", 50, PMU), ("pmu_intel_count", "pmc_code", 5, PMU),
    ("pmu_intel_overflow", "pio_code", 3, PMU),
)


@pytest.mark.soak
@pytest.mark.parametrize("row, symbol, after, counts", [pytest.param(*stop, id=stop[0]) for stop in STOPS])
def test_older(
    vm: Start, tmp_path: Path, older: Path, row: str, symbol: str, after: int, counts: tuple[str, object]
) -> None:
    """A stream of the QEMU of an older commit continues in this one."""
    def command(qemu: Path, *words: str) -> list[str]:
        found = next(one for one in ROWS if one.name == row).command(qemu, IMAGE, "tcg", places.FIRMWARE)
        return [*found, "-machine", "pc-q35-10.0", *words]

    key = zlib.crc32(f"{symbol}+{after} {command(older)}".encode())
    stream = older.parents[2] / f"streams/{row}-{key:08x}"
    if not stream.is_file():
        it = vm(argv=command(older, "-S", *Stub.words(tmp_path / "gdb")), name="older")
        stub = Stub(tmp_path / "gdb")
        stub.run_to(symbols()[symbol] + after)
        it.events.clear()
        # A machine that a debugger has stopped cannot be taken up. Continued and at once interrupted, it is paused.
        stub.socket.sendall(b"$c#63\x03")
        it.event("STOP")
        assert it.cpu(counts[0]) == counts[1]
        make_dir(stream.parent)
        it.save(stream.with_suffix(".new"))
        stream.with_suffix(".new").rename(stream)
    it = vm(argv=command(places.qemu(), "-incoming", "defer"))
    assert it.load(stream), it.said()
    assert it.cpu(counts[0]) == counts[1]
    it.go()
    assert it.wait() == PASSED
    assert it.said().splitlines()[-1].startswith("1..")  # QEMU's own failure has the status of a test that passes
