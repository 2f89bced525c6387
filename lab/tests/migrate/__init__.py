# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test migrate: save, restore and migrate guests with LWP; refuse what does not fit."""
