# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what is read from TSan's reports."""

from lab.tests.soak.test_builds import known, races

BORDER = "=================="
OWN = f"""{BORDER}
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 8 at 0x7b by thread T4:
    #0 lwp_park /src/target/i386/lwp/tcg-lwp-context.c:170:5 (qemu+0x1)
    #1 helper_wrmsr /src/target/i386/tcg/system/misc_helper.c:222 (qemu+0x2)

  Previous read of size 8 at 0x7b by thread T5:
    #0 cpu_exec /src/accel/tcg/cpu-exec.c:1 (qemu+0x3)
{BORDER}
"""
THEIRS = OWN.replace("target/i386/lwp/tcg-lwp-context.c", "accel/tcg/cputlb.c")


def test_all_races_are_found() -> None:
    """Each report is one."""
    assert len(races(OWN + "noise\n" + THEIRS)) == 2


def test_known_races() -> None:
    """The function that accesses the memory decides, or one that is named for all that it calls."""
    assert not known(OWN, [("access", "helper_wrmsr"), ("within", "lwp")])
    assert known(OWN, [("access", "cpu_exec")]) and known(OWN, [("within", "helper_wrmsr")])
