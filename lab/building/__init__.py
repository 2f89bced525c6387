# SPDX-License-Identifier: GPL-2.0-or-later
"""How sources are fetched, patched and built."""
