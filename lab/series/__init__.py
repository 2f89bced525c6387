# SPDX-License-Identifier: GPL-2.0-or-later
"""The two patch series: how they are made of this tree, written for maintainers, and checked."""
