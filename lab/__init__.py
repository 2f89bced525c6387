# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab: everything that ./vlwp does. README.md in this folder is its map."""
