# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test kvm: LWP for KVM guests, in the nested lab."""
