# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of measurements (kvm/engine/pmc_row.h) as QEMU's emulated counters have them."""

# Quantiles of lateness that the harmony project published, of interrupts of guest-only counters on a Ryzen 3600 and on
# an EPYC of the Milan class. Those are conditional branches; the lab takes the numbers as cycles.
PUBLISHED = {"zen2": (800, 1400, 2200, 3000, 3500, 5043), "zen3": (1202, 2915, 3251, 5371, 7583, 86738)}


def late(text: str) -> str:
    """Items of a row: interrupts come so many cycles late, as N, `zen2` or `zen3`, or /D for a D-th of that."""
    name, _, divisor = text.partition("/")
    cycles = PUBLISHED[name] if name in PUBLISHED else (int(name),) * 6
    return f"late={'/'.join(str(by // int(divisor or 1)) for by in cycles)},rate=1000"


def planted(row: str, more: str = "") -> list[str]:
    """QEMU's options that plant a row, and more properties of its object, as `ipc=4,predictor=2bit`."""
    text = [f"row={row.replace(',', ',,')}"] if row else []
    words = ",".join(["x-x86-pmu-row,id=pmu-row", *text, *([more] if more else [])])
    return ["-object", words] if row or more else []
