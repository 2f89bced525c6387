# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test libvirt: hosts with libvirt on one machine; a guest that is profiled moves, and what does not fit is
refused."""
