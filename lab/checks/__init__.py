# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the tree itself: style, licences, scripts, citations, and what ./vlwp says to bad input."""
