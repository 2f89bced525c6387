# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of measurements of a processor's counters, which the lab plants in QEMU and tells KVM (kvm/engine/pmc_row.h)."""

import sys

from lab.common import places

sys.path.append(str(places.TOP / "guest-tests/flat/runner"))

from planted import late, planted  # noqa: E402

__all__ = ["EXACT", "known", "late", "perf", "planted", "skid"]

EXACT = late("0")  # counts are right, and interrupts on time


def known(name: str) -> str:
    """Of lateness `name`, what was measured of it; of `adversarial` nothing that is true."""
    return late(name.replace("adversarial", "zen3"))


def skid(name: str) -> list[str]:
    """QEMU's options for interrupts that come as late as late() says, or are `adversarial`."""
    return planted(known(name), "adversarial=on" if name.startswith("adversarial") else "")


def perf(row: str = EXACT) -> str:
    """Parameters of kvm-amd, which counts by counters and is told a row."""
    return f"lwp_source=perf lwp_row={row}"
