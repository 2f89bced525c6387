# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile whose numbers are literal here, and lwpctl with it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from lab.common import proc
from lab.tests.conftest import Ended, good, run
from lab.tests.unit.conftest import TESTS, sanitized

LWPCTL = TESTS / "host-tools/lwpctl"
SAMPLE = TESTS / "host-tools/tests/sample_profile"

# Of host-tools/tests/sample_profile.c: 30 samples of sample_hot and 14 of sample_cold stand for 100 instructions each;
# 13 of branches for 10.
HOT, COLD, BRANCHES = 3000, 1400, 130
PROCESS = r'sam;ple "\x1b[31m'  # printable; the file has the escape character
# Two windows of 4 branches stand for 100 and 300: their runs count 25 and 75 times. The first run of each is not
# seen, the second branch is not taken: 4 instructions of sample_hot, the last of which calls, and 3 of sample_cold.
W_HOT, W_COLD, W_CALLS, W_BRANCHES = 400, 300, 100, 400
BELOW = "[below the window]"


class Sample:
    """The profile in a directory, and lwpctl there."""

    def __init__(self, place: Path):
        self.place = place

    def data(self, *options: str, name: str = "sample.data") -> Path:
        """Written now."""
        path = self.place / name
        good([SAMPLE, *options, path])
        return path

    def lwpctl(self, *words: proc.Word, **options: Any) -> Ended:
        """Run it there."""
        return run([LWPCTL, *words], cwd=self.place, **options)

    def good(self, *words: proc.Word) -> str:
        """The output of one that must succeed."""
        return good([LWPCTL, *words], cwd=self.place)

    def export(self, form: str, *options: str, windows: bool = False) -> Path:
        """In a format."""
        out, data = self.place / f"sample.{form}", self.data(*(["--windows"] if windows else []))
        self.good("export", f"--format={form}", *options, "-o", out, data)
        return out

    def refuses(self, status: int, text: str, *words: proc.Word) -> None:
        """Status and one line with this text."""
        ended = self.lwpctl(*words, limit=60)
        one = ended.said.count("\n") == 1 and ended.said.startswith("lwpctl") and text in ended.said
        assert ended.status == status and one, f"wanted status {status} and {text!r}"


@pytest.fixture(scope="session")
def sample_built() -> None:
    """lwpctl and the program that writes the profile."""
    sanitized(*(str(path.relative_to(TESTS)) for path in (LWPCTL, SAMPLE)))


@pytest.fixture
def sample(sample_built: None, tmp_path: Path) -> Sample:
    """In the test's own directory."""
    return Sample(tmp_path)


def needs(*names: str) -> str:
    """One of these programs, which `./vlwp deps` does not install; the test is skipped without."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if not found:
        pytest.skip(f"needs {' or '.join(names)}")
    return found
