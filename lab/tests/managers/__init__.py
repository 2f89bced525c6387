# SPDX-License-Identifier: GPL-2.0-or-later
"""Managers of virtual machines on hosts of one machine, for ./vlwp soak managers."""
