# SPDX-License-Identifier: GPL-2.0-or-later
"""What needs no guest: builds, unit tests in C, fuzzers, what lwpctl prints and exports, the tree's own files."""
