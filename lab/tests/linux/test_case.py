# SPDX-License-Identifier: GPL-2.0-or-later
"""The case studies, docs/case-*.md: their commands are run as they stand there.

A command is an indented line that begins with "$ ". Commands of a page run one after the other in the tree's folder,
in one shell that ends at the first which fails; $CASE is a folder for what they write."""

import re
from pathlib import Path

import pytest

from lab.common.places import TOP
from lab.tests.conftest import run
from lab.tests.plugin import shows

COMMAND = re.compile(r"^    \$ (.*)$", re.MULTILINE)
# What the commands of a page print among other things (patterns).
CASES = {
    "counts": ("are the same in all 3 runs", r"instructions: \d+ are more than 600000", '"instructions": '),
    "pgo": ("taken-branches",),
    "rr": ("\nreplayed\nreplayed\n",),
}


@shows(lambda name: f"docs/case-{name}.md: its commands do what it says")
@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, tmp_path: Path) -> None:
    commands = COMMAND.findall((TOP / f"docs/case-{name}.md").read_text(encoding="utf-8"))
    ended = run(["bash", "-c", "\n".join(["set -e", *commands])], cwd=TOP, env={"CASE": str(tmp_path)})
    assert ended.status == 0
    for pattern in CASES[name]:
        assert re.search(pattern, ended.said), f"nothing it prints is like '{pattern}'"
