# SPDX-License-Identifier: GPL-2.0-or-later
"""Signs of life."""

import contextlib
import io
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from lab.common import say, steps


class Alive(unittest.TestCase):
    """What is told of work that says nothing."""

    def test_told_after_a_minute_without_a_message(self) -> None:
        """Not before, and each message begins the time again. What has ended is not told."""
        with say.alive("outer"):
            with say.alive("work", lambda: "half"):
                say.told()
                self.assertEqual(say.due(time.monotonic() + say.SILENCE - 30), "")
                self.assertRegex(say.due(time.monotonic() + say.SILENCE), r"^work: \d+ s, half$")
            self.assertRegex(say.due(time.monotonic() + say.SILENCE), r"^outer: \d+ s$")
        self.assertEqual(say.due(time.monotonic() + say.SILENCE), "")

    def test_ninja_that_falls_silent_is_told_with_its_progress(self) -> None:
        """The command waits until it has been told, 20 s at most."""
        with tempfile.TemporaryDirectory() as work:
            script = f"echo '[1/4] a'; for i in $(seq 200); do [ -e {work}/told ] && exit; sleep 0.1; done; exit 1"

            def tell(text: str) -> None:
                if "25%, about" in text:
                    (Path(work) / "told").touch()

            with (mock.patch.object(say, "SILENCE", 0.1), mock.patch.object(say, "_beating", []),
                  mock.patch.object(say, "say", tell), mock.patch.object(steps, "LOG", Path(work)),
                  contextlib.redirect_stderr(io.StringIO())):
                steps.step("work", "log", ["sh", "-c", script])
