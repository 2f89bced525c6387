# SPDX-License-Identifier: GPL-2.0-or-later
"""The workflow of GitHub: each of its commands is one that ./vlwp has, and together they are the whole test."""

import re
import shlex
import subprocess

import pytest

from lab.common.places import TOP
from lab.tests.pytest_part import PARTS

TEXT = (TOP / ".github/workflows/test.yml").read_text(encoding="utf-8")
LINES = re.findall(r"^ +- run: (\./vlwp .*)$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_workflow_can_be_run(line: str) -> None:
    """With --print, which does all but to build and run."""
    done = subprocess.run([*shlex.split(line), "--print"], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_the_workflow_has_all_parts() -> None:
    """Each once, with its results in a file of its own."""
    assert LINES == [f"./vlwp test {part} --junitxml=build/junit/{part}.xml" for part in PARTS]
