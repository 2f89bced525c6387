# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user starts: the commands of ./vlwp."""
