# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands of tests, whose output is shown with a test that fails."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.common import proc


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    status: int  # 128 and the number of the signal that killed it; 124: it was given up
    out: str
    err: str

    @property
    def said(self) -> str:
        """All of it."""
        return self.out + self.err


def run(argv: Sequence[proc.Word], limit: float | None = None, **options: Any) -> Ended:
    """Run a command without input, its output in the test's log."""
    options = {"stdin": subprocess.DEVNULL, "text": True, "errors": "replace", **options}
    child = proc.start(proc.with_us(argv, "TERM"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        out, err = child.communicate(timeout=limit)
        status = proc.wait(child)
    except subprocess.TimeoutExpired:
        proc.end(child)
        out, err = child.communicate()
        status = 124
    except BaseException:
        proc.end(child)
        raise
    print(f"$ {' '.join(map(str, argv))}\n{out}{err}[status {status}]")
    return Ended(status, out, err)


def good(argv: Sequence[proc.Word], **options: Any) -> str:
    """The output of a command that must succeed."""
    ended = run(argv, **options)
    assert ended.status == 0, f"{Path(str(argv[0])).name} ends with status {ended.status}"
    return ended.out
