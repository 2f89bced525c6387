# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of these tests, which are part of ./vlwp test unit."""

from lab.tests.unit.conftest import tools_built  # noqa: F401
from sample import sample, sample_built  # noqa: F401
