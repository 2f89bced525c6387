# SPDX-License-Identifier: GPL-2.0-or-later
"""OpenStack's Nova, and what it needs."""
