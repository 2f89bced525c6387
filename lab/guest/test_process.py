# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of process.py: the file of -count, and what is said of a number."""

import pytest

from lab.common.say import Died
from lab.guest import process
from lab.guest.process import End

HEAD = b"vlwpcnt1" + bytes([2, 0, 0, 0]) + bytes(36)
FIRST = bytes([10]) + bytes(7) + bytes([3]) + bytes(7) + bytes([5, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])
SECOND = bytes([20]) + bytes(7) + bytes([4]) + bytes(7) + bytes([5, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
FILE = HEAD + FIRST + b"one".ljust(16, b"\0") + SECOND + b"a-name-of-15-by".ljust(16, b"\0")


def test_rows_are_read() -> None:
    """Two threads of a process, of which one still ran."""
    counts = process.read(FILE + bytes(480))
    assert [(dict(row.counts), row.process, row.tid, row.end, row.name) for row in counts.rows] == [
        ({"instructions": 10, "branches": 3}, 5, 6, End.EXITED, "one"),
        ({"instructions": 20, "branches": 4}, 5, 5, End.RUNS, "a-name-of-15-by"),
    ]
    assert counts.left_out == 0


def test_threads_without_a_row_are_known() -> None:
    """The number of rows goes on where the file ends."""
    counts = process.read(b"vlwpcnt1" + (65536 + 3).to_bytes(4, "little") + bytes(36 + 48 * 65536))
    assert (len(counts.rows), counts.left_out) == (65536, 3)


def test_another_file_is_refused() -> None:
    """One that is empty, too."""
    for data in (b"", HEAD[1:], HEAD[:40]):
        with pytest.raises(Died, match="this is no file of -count"):
            process.read(data)


def test_one_thread_is_not_called_unrepeatable() -> None:
    """Nor one that has run two programs; two threads are, and count-1 is named."""
    same = process.Row({}, 5, 5, End.EXEC, "sh")
    other = process.Row({}, 5, 6, End.EXITED, "sh")
    assert process.not_repeatable(process.Counts([same, same], 0)) == ""
    text = process.not_repeatable(process.Counts([same, other], 0))
    assert text == "not repeatable: 2 threads; count-1 repeats them: leave out --process"


def test_a_program_has_a_path() -> None:
    """Of its own, or from the PATH that it gets."""
    assert process.program(["./a", "b"], {"PATH": "/nowhere"}) == ["./a", "b"]
    assert process.program(["sh"], {"PATH": "/nowhere:/bin"}) == ["/bin/sh"]
    with pytest.raises(Died, match="sh: this is not in the PATH of the process"):
        process.program(["sh"], {"PATH": "/nowhere"})
