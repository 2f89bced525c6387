# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of measurements of a processor's counters, which the lab plants in QEMU and tells KVM (kvm/engine/pmc_row.h)."""

import sys

from lab.common import places

sys.path.append(str(places.TOP / "guest-tests/flat/runner"))

from planted import PUBLISHED, late, planted  # noqa: E402

__all__ = ["EXACT", "PUBLISHED", "late", "planted", "skid"]

EXACT = late("0")  # counts are right, and interrupts on time


def skid(name: str) -> list[str]:
    """QEMU's options for interrupts that come as late as late() says, or are `adversarial`."""
    return planted(late(name.replace("adversarial", "zen3")), name.startswith("adversarial"))
