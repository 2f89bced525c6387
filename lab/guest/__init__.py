# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests and booting: the init of a guest, what starts one, and the options that describe it."""
