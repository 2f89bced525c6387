# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of Linux guests share: the commands, and reading what they print."""

import json
from pathlib import Path
from typing import Any

from lab.common.places import LINUX_PROGRAMS, TOP
from lab.tests.conftest import good

VLWP = TOP / "vlwp"
WORKLOAD = LINUX_PROGRAMS / "workload"


def parted(text: str) -> tuple[dict[str, Any], str]:
    """The JSON in what a command prints, and the rest: what the program and `run` say around it."""
    begin = text.find('{\n  "')
    assert begin >= 0, "it prints no JSON"
    document, end = json.JSONDecoder().raw_decode(text, begin)
    return document, text[:begin] + text[end:]


def compiled(source: Path, text: str, *options: str) -> Path:
    """A program of this text, beside its source."""
    source.write_text(text, encoding="ascii")
    good(["gcc", *options, source, "-o", source.with_suffix("")])
    return source.with_suffix("")
