# SPDX-License-Identifier: GPL-2.0-or-later
"""Signs of life."""

import re
import time
from pathlib import Path

import pytest

from lab.common import say, steps


def test_told_after_a_minute_without_a_message() -> None:
    """Not before, and each message begins the time again. What has ended is not told."""
    with say.alive("outer"):
        with say.alive("work", lambda: "half"):
            say.told()
            assert say.due(time.monotonic() + say.SILENCE - 30) == ""
            assert re.search(r"^work: \d+ s, half$", say.due(time.monotonic() + say.SILENCE))
        assert re.search(r"^outer: \d+ s$", say.due(time.monotonic() + say.SILENCE))
    assert say.due(time.monotonic() + say.SILENCE) == ""


def test_a_message_does_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of files are the user's, and may have come from elsewhere."""
    say.say("a\x1b[31mé\udcff\n\u202eb")
    assert capsys.readouterr().err == "vlwp: a\\x1b[31mé\\xff\\x0a\\xe2\\x80\\xaeb\n"


def test_ninja_that_falls_silent_is_told_with_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command waits until it has been told, 20 s at most."""
    script = f"echo '[1/4] a'; for i in $(seq 200); do [ -e {tmp_path}/told ] && exit; sleep 0.1; done; exit 1"

    def tell(text: str) -> None:
        if "25%, about" in text:
            (tmp_path / "told").touch()

    for module, name, value in (
        (say, "SILENCE", 0.1), (say, "_beating", []), (say, "say", tell), (steps, "LOG", tmp_path),
    ):
        monkeypatch.setattr(module, name, value)
    steps.step("work", "log", ["sh", "-c", script])
