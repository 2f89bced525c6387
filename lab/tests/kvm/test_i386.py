# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of guest-tests/linux in 32 bits under a 32-bit kernel, whose system calls are SYSENTER and SYSEXIT: all
of them in TCG, and those that need no signal at a time of their own in KVM, with exact delivery. With prompt delivery
the threads' counts are complete there."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.building import kernel
from lab.common.places import GUEST_I386
from lab.nested import machine
from lab.tests.linux.test_programs import judge_left, leave
from lab.tests.plugin import Points

NAMES = ("sample_32", "moves_32", "segv_32", "fork_32", "known_32")
THREADS = ("threads_32",)


@pytest.mark.parametrize("accel, delivery, names", [
    pytest.param("tcg", "exact", NAMES + THREADS, id="tcg"),
    pytest.param("kvm", "exact", NAMES[:2], id="kvm"),
    # Signals come faster there than `known` can take them.
    pytest.param("kvm", "exact", NAMES[:-1], id="kvm-all", marks=pytest.mark.soak),
    pytest.param("kvm", "prompt", THREADS, id="kvm-threads", marks=pytest.mark.soak),
])
def test_i386(accel: str, delivery: str, names: Sequence[str], points: Points, tmp_path: Path) -> None:
    kernel.build_i386()
    guest = machine.Machine(accel, memory=512, cpu=f"lwp-delivery={delivery}", kernel=GUEST_I386)
    guest.in_lab = accel == "kvm" and not machine.kvm_has_lwp()
    leave(guest, tmp_path, names, [str(GUEST_I386 / "sysroot/bin/busybox"), "sh"])
    for name in names:
        judge_left(tmp_path, name, points)
