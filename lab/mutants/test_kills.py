# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kill matrix says (kills.py)."""

from lab.mutants.kills import told

LINES = [
    "0123456789ab 1 right f red: ring::full", "0123456789ab 2 right g red: ring::full ring::wraps",
    "0123456789ab 3 wrong h red:",
]


def test_what_is_never_red_and_what_never_alone() -> None:
    """Of all tests that are known."""
    assert told(LINES, {"ring::full", "ring::wraps", "cb::odd"}) == [
        "3 mutants; 2 tests were red, 1 of them alone at least once; 1 mutants were seen by none",
        "never red: cb::odd", "never alone: ring::wraps",
    ]
