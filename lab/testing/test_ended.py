# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that are ended."""

import signal
import subprocess
from pathlib import Path

from lab.common import proc
from lab.common.places import TOP
from lab.tests.pytest_part import PYTEST

TEST = """import time
def test() -> None:
    try:
        print("runs", flush=True)
        time.sleep(100)
    finally:
        time.sleep(1)
        print("is undone", flush=True)
"""


def test_ctrl_c_lets_a_test_undo_what_it_did(tmp_path: Path) -> None:
    """Though SIGTERM follows, as it does from the command that waits for pytest."""
    file = tmp_path / "test_it.py"
    file.write_text(TEST, encoding="ascii")
    child = proc.start([*PYTEST, "-s", "-p", "lab.tests.plugin", file], cwd=TOP, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    while not child.stdout.readline().endswith("runs\n"):
        assert child.poll() is None
    for number in (signal.SIGINT, signal.SIGTERM):
        child.send_signal(number)
    assert "is undone\n" in child.communicate()[0]
    assert proc.wait(child) == 2
