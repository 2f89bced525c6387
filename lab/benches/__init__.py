# SPDX-License-Identifier: GPL-2.0-or-later
"""Measurements of speed and cost."""
