# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test linux: programs in Linux guests, profiles and counts beside the truth."""
