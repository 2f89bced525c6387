# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what is read from TSan's reports."""

import unittest

from lab.soaks.builds import known, races

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


class Races(unittest.TestCase):
    """Which reports count."""

    def test_all_are_found(self) -> None:
        """Each report is one."""
        self.assertEqual(len(races(OWN + "noise\n" + THEIRS)), 2)

    def test_known(self) -> None:
        """The function that accesses the memory decides, or one that is named for all that it calls."""
        self.assertFalse(known(OWN, [("access", "helper_wrmsr"), ("within", "lwp")]))
        self.assertTrue(known(OWN, [("access", "cpu_exec")]))
        self.assertTrue(known(OWN, [("within", "helper_wrmsr")]))


if __name__ == "__main__":
    unittest.main()
