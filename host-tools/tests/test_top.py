# SPDX-License-Identifier: GPL-2.0-or-later
"""lwpctl top: a file that grows, one that is lost, the terminal, and what it shows."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.common import proc
from sample import LWPCTL, Sample

PATIENCE = 30  # seconds: one that does not end, or says nothing, is a failure
HOT, COLD = "sample_hot", "sample_cold"
# RECORDS sections: 30 of sample_hot, then 10 and 4 of sample_cold.
SECOND_SECTION = struct.pack("<Q", 16 + 10 * 32)  # its size, which stands in the middle of its header
OLD, NEW = (1, 1), (2, 2)  # times
CLEAR = "\x1b[J"  # of the rest of the screen, behind a look


def _frames_of(text: str) -> list[list[tuple[str, ...]]]:
    """Now, altogether, samples and symbol of each row of each frame of lwpctl top."""
    row = r"^ *([0-9.]+)% +([0-9.]+)% +(\d+)  (\w+)  \(sample_profile\)$"
    return [re.findall(row, frame, re.MULTILINE) for frame in text.split("Symbol  (object)")[1:]]


def _rows(text: str) -> list[tuple[int, str]]:
    """Samples and symbol of the first frame."""
    return [(int(samples), symbol) for _, _, samples, symbol in _frames_of(text)[0]]


def _begun(whole: bytes) -> bytes:
    """Its first records, and half a header."""
    return whole[: whole.index(SECOND_SECTION) + 3]


def _thinned(whole: bytes) -> bytes:
    """All but its end. From the second records on each of instructions stands for two."""
    second, kind, kept = whole.index(SECOND_SECTION) - 8, struct.pack("<I", 17), struct.pack("<QII", 8, 2, 1)
    section = kind + struct.pack("<I", zlib.crc32(kind + kept)) + kept
    return whole[:second] + section + whole[second:-1]


class Top:
    """It, with its errors in its output."""

    def __init__(self, *arguments: proc.Word):
        command: list[proc.Word] = ["timeout", "--foreground", str(PATIENCE), LWPCTL, "top", *arguments]
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.child = proc.start(command, stdin=subprocess.DEVNULL, text=True, **streams)

    def until(self, words: str) -> str:
        """Its output until these words are in it."""
        text = ""
        assert self.child.stdout
        while words not in text:
            line = self.child.stdout.readline()
            assert line, f"it ends before it says {words!r}: {text!r}"
            text += line
        return text

    def rest(self) -> tuple[int, str]:
        """Its status, and what it has not yet said."""
        assert self.child.stdout
        text = self.child.stdout.read()
        status = proc.wait(self.child)
        print(f"{text}[status {status}]")
        return status, text


@contextmanager
def top(*arguments: proc.Word) -> Iterator[Top]:
    """One that looks often."""
    one = Top("--delay=0.05", *arguments)
    try:
        yield one
    finally:
        proc.end(one.child)


@pytest.fixture
def whole(sample: Sample) -> bytes:
    """The profile."""
    return sample.data().read_bytes()


def test_top_of_a_file_that_grows(sample: Sample, whole: bytes) -> None:
    """A file that is written beside an older one of its name, under the name that it has until it is complete: what is
    new, and all together. It ends with the file."""
    data, growing = sample.data("--complete", name="live.data"), sample.place / "live.data.AbCdEf"
    growing.write_bytes(_begun(whole))
    os.utime(data, OLD)
    os.utime(growing, NEW)
    with top(data) as one:
        text = one.until(HOT)
        with growing.open("ab") as file:
            file.write(whole[len(_begun(whole)):])
        growing.rename(data)
        status, rest = one.rest()
    frames = _frames_of(text + rest)
    assert status == 0 and [("100.00", "100.00", "30", HOT)] in frames, "a frame with sample_hot alone"
    assert frames[-1] == [("100.00", "31.82", "14", COLD), ("0.00", "68.18", "30", HOT)]
    assert "at the end, 44 samples of instructions, 14 of them new" in rest


def test_top_of_a_file_that_is_not_there_yet(tmp_path: Path, whole: bytes) -> None:
    """It says so once, and begins when there is one."""
    data = tmp_path / "later.data"
    with top(data) as one:
        said = one.until("waiting")
        data.write_bytes(b"")
        data.write_bytes(whole)
        status, rest = one.rest()
    assert status == 0 and rest.count("waiting") == 0 and said.count("\n") == 1
    assert len(_frames_of(rest)) == 1


def _damage(growing: Path, whole: bytes) -> None:
    damaged = bytearray(whole)
    damaged[len(_begun(whole)) + 40] ^= 1
    growing.write_bytes(damaged)


@pytest.mark.parametrize("lose, words", [
    (lambda growing, _: growing.unlink(), "lwprun has dropped the file"),
    (lambda growing, _: os.truncate(growing, 64), "the file was cut off"),
    (_damage, "RECORDS: damaged"),
], ids=["dropped", "cut-off", "damaged"])
def test_top_of_a_file_that_is_lost(
    tmp_path: Path, whole: bytes, lose: Callable[[Path, bytes], None], words: str,
) -> None:
    """A file that is dropped, cut off or damaged is one line and status 1."""
    growing = tmp_path / "lost.data.AbCdEf"
    growing.write_bytes(_begun(whole))
    with top(tmp_path / "lost.data") as one:
        one.until(HOT)
        lose(growing, whole)
        status, rest = one.rest()
    said = [line for line in rest.splitlines() if line.startswith("lwpctl: ")]
    assert status == 1 and len(said) == 1 and words in said[0]


def test_top_shows_what_was_asked_for(sample: Sample, whole: bytes) -> None:
    """Events, windows, filters, as many rows; thinned samples weigh more."""
    data = sample.place / "shown.data"
    data.write_bytes(whole)
    for options, wanted, head in (
        (["--event=branches"], [(13, HOT)], "13 samples of branches"),
        (["--limit=1"], [(30, HOT)], "44 samples of instructions"),
        (["--limit=0", "--symbol=*cold"], [(14, COLD)], "14 samples of instructions"),
        (["--thread=4243"], [(4, COLD)], "4 samples of instructions"),
    ):
        text = sample.good("top", *options, data)
        assert _rows(text) == wanted and head in text, options
    windows = sample.data("--windows", name="windows.data")
    assert _rows(sample.good("top", "--event=branches", windows)) == [(6, HOT), (2, COLD)]
    data.write_bytes(_thinned(whole))
    mixed = [(symbol, share) for _, share, _, symbol in _frames_of(sample.good("top", "--frames=1", data))[0]]
    assert mixed == [(HOT, "51.72"), (COLD, "48.28")], "30 and twice 14"


def test_top_looks_again(sample: Sample, whole: bytes) -> None:
    """As often as was asked for. Nothing is new in the second look."""
    windows = sample.data("--windows").read_bytes()[:-1]
    for begun, event, shares in (
        (_begun(whole), "instructions", ["100.00"]), (windows, "branches", ["75.00", "25.00"]),
    ):
        growing = sample.place / f"{event}.data"
        growing.write_bytes(begun)
        text = sample.good("top", "--delay=0.05", "--frames=3", f"--event={event}", growing)
        seen = [(share, now) for look in _frames_of(text) for now, share, _, _ in look]
        assert seen == [(share, share) for share in shares] + 2 * [(share, "0.00") for share in shares]


def _looks(terminal: int, shown: str, nr: int) -> str:
    """All that it has shown when that are so many looks."""
    while shown.count(CLEAR) < 1 + nr:  # one before the first look
        assert select.select([terminal], [], [], PATIENCE)[0], f"not {nr} looks: {shown!r}"
        shown += os.read(terminal, 4096).decode()
    return shown


def test_top_in_a_terminal(tmp_path: Path, whole: bytes) -> None:
    """A look takes the place of the one before, and is not larger than the terminal. Only 'q' ends it, and the
    terminal is as it was."""
    growing = tmp_path / "keys.data"
    growing.write_bytes(whole[:-1])
    outer, inner = pty.openpty()
    rows, columns = 5, 42
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(inner)
    command: list[proc.Word] = ["timeout", "--foreground", str(PATIENCE), LWPCTL, "top", "--delay=3600", growing]
    child = proc.start(command, stdin=inner, stdout=inner, stderr=inner)
    try:
        text = _looks(outer, "", 1)
        os.write(outer, b"x")
        text = _looks(outer, text, 2)
        os.write(outer, b"q")
        status = proc.wait(child)
        after = termios.tcgetattr(inner)
    finally:
        proc.end(child)
        os.close(inner)
        os.close(outer)
    for look in (look.replace("\x1b[K", "").splitlines() for look in text.split(CLEAR)[1:3]):
        assert look[0].startswith("\x1b[H"), "it begins at the top"
        assert len(look) < rows and all(len(line.replace("\x1b[H", "")) <= columns for line in look), "it fits"
        assert look[3].endswith(f"30  {HOT}"), "the hottest function, cut off"
    assert status == 0 and after == before, "the terminal is as it was"
