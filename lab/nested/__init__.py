# SPDX-License-Identifier: GPL-2.0-or-later
"""The nested lab: KVM with LWP inside an emulated AMD machine."""
