# SPDX-License-Identifier: GPL-2.0-or-later
"""Migration: migratetest, which moves machines with LWP, and the commands that run it."""
