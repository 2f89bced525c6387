# SPDX-License-Identifier: GPL-2.0-or-later
"""What every room of the lab uses: places, messages, processes, steps, the archive, reports."""
