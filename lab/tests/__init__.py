# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests that need more than this process: machines, guests, builds. One folder for each part of ./vlwp test."""
