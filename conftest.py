# SPDX-License-Identifier: GPL-2.0-or-later
"""pytest begins here: what the tests of this tree add to it."""

pytest_plugins = ["lab.tests.plugin"]
