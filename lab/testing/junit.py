# SPDX-License-Identifier: GPL-2.0-or-later
"""The results that Meson leaves: testlog.junit.xml."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path


def tally(results: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped tests; a TAP suite has a case for each of its tests. Raises OSError or
    ElementTree.ParseError."""
    total = failed = skipped = 0
    for suite in ElementTree.parse(results).getroot().iter("testsuite"):
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return total - failed - skipped, failed, skipped
