# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that take hours, or that need more than ./vlwp test may ask for; what other parts have of that kind is marked
there."""
