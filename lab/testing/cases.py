# SPDX-License-Identifier: GPL-2.0-or-later
"""The case studies, docs/case-*.md: their commands are run as they stand there.

A command is an indented line that begins with "$ ". Commands of a page run one after the other in the tree's folder,
in one shell that ends at the first which fails; $CASE is a folder for what they write."""

import re

from lab.common import proc
from lab.common.places import TOP
from lab.common.report import Check

COMMAND = re.compile(r"^    \$ (.*)$", re.MULTILINE)
# Page, line, what the commands print among other things (patterns).
CASES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "counts",
        "docs/case-counts.md: exact instruction counts in CI",
        ("are the same in all 3 runs", r"instructions: \d+ are more than 600000", '"instructions": '),
    ),
    ("pgo", "docs/case-pgo.md: PGO in a VM without LBR", ("taken-branches",)),
    ("rr", "docs/case-rr.md: rr without a PMU", ("\nreplayed\n(.|\n)*\nreplayed\n",)),
)


def commands(page: str) -> list[str]:
    """Of the text of a page."""
    return COMMAND.findall(page)


def holds(check: Check, name: str, wanted: tuple[str, ...]) -> None:
    """A page's commands do what it says."""
    script = "\n".join(["set -e", *commands((TOP / f"docs/case-{name}.md").read_text(encoding="utf-8"))])
    command: list[proc.Word] = ["env", f"CASE={check.work}", "bash", "-c", f"cd '{TOP}'; {script}"]
    status, text = check.text(command, stderr=True)
    check.want(status == 0, f"a command ends with status {status}")
    for pattern in wanted:
        check.want(re.search(pattern, text), f"nothing it prints is like '{pattern}'")
