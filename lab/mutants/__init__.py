# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants that tests must notice. Each is put into a copy of the sources, and the tests that it
names must then fail. README.md in this folder says how a mutant is written."""
