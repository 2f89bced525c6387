# SPDX-License-Identifier: GPL-2.0-or-later
"""All cases, in the order in which they run."""

from lab.libvirt import cpumap, hook, moving, patched, refused, traps

ROWS = (*moving.ROWS, *refused.ROWS, *hook.ROWS, *traps.ROWS, *cpumap.ROWS)

# With the patched libvirt: ./vlwp soak libvirt.
PATCHED = patched.ROWS
