# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test flat: the bare-metal conformance tests, and what QEMU does beside them."""
