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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.common import proc
from lab.common.report import Check
from lab.testing.sample import LWPCTL, SAMPLE

PATIENCE = 30  # seconds: one that does not end, or says nothing, is a failure
LIMIT = ("timeout", "--foreground", str(PATIENCE))
HOT, COLD = "sample_hot", "sample_cold"
# RECORDS sections: 30 of sample_hot, then 10 and 4 of sample_cold.
SECOND_SECTION = struct.pack("<Q", 16 + 10 * 32)  # its size, which stands in the middle of its header
OLD, NEW = (1, 1), (2, 2)  # times
CLEAR = "\x1b[J"  # of the rest of the screen, behind a look


def _frames_of(text: str) -> list[list[tuple[str, ...]]]:
    """Now, altogether, samples and symbol of each row of each frame of lwpctl top."""
    row = r"^ *([0-9.]+)% +([0-9.]+)% +(\d+)  (\w+)  \(sample_profile\)$"
    return [re.findall(row, frame, re.MULTILINE) for frame in text.split("Symbol  (object)")[1:]]


def _sample(check: Check, *options: str) -> bytes:
    data = check.work / "whole.data"
    check.run([SAMPLE, *options, data])
    return data.read_bytes()


def _begun(whole: bytes) -> bytes:
    """Its first records, and half a header."""
    return whole[: whole.index(SECOND_SECTION) + 3]


def _thinned(whole: bytes) -> bytes:
    """All but its end. From the second records on each of instructions stands for two."""
    second, kind, kept = whole.index(SECOND_SECTION) - 8, struct.pack("<I", 17), struct.pack("<QII", 8, 2, 1)
    section = kind + struct.pack("<I", zlib.crc32(kind + kept)) + kept
    return whole[:second] + section + whole[second:-1]


@contextmanager
def _top(check: Check, *arguments: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """It, with its errors in its output."""
    command: list[str | Path] = [*LIMIT, LWPCTL, "top", "--delay=0.05", *arguments]
    pipe = subprocess.PIPE
    top = proc.start(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    try:
        yield top
    finally:
        proc.end(top)


def _until(check: Check, top: "subprocess.Popen[str]", words: str) -> str:
    """Its output until these words are in it."""
    text = ""
    assert top.stdout
    while words not in text:
        line = top.stdout.readline()
        check.want(line, f"it ends before it says {words!r}: {text!r}")
        text += line
    return text


def _rest(check: Check, top: "subprocess.Popen[str]") -> tuple[int, str]:
    assert top.stdout
    text = top.stdout.read()
    status = proc.wait(top)
    check.say(f"{text}[status {status}]")
    return status, text


def _grows(check: Check) -> None:
    """A file that is written beside an older one of its name, under the name that it has until it is complete: what is
    new, and all together. It ends with the file."""
    whole, data, growing = _sample(check), check.work / "live.data", check.work / "live.data.AbCdEf"
    data.write_bytes(_sample(check, "--complete"))
    growing.write_bytes(_begun(whole))
    os.utime(data, OLD)
    os.utime(growing, NEW)
    with _top(check, data) as top:
        text = _until(check, top, HOT)
        with growing.open("ab") as file:
            file.write(whole[len(_begun(whole)):])
        growing.rename(data)
        status, rest = _rest(check, top)
    frames = _frames_of(text + rest)
    hot, both = [("100.00", "100.00", "30", HOT)], ("0.00", "68.18", "30", HOT)
    check.want(status == 0 and hot in frames, f"status {status}, no frame with sample_hot alone")
    check.want(frames[-1] == [("100.00", "31.82", "14", COLD), both], f"the last frame is {frames[-1]}")
    check.want("at the end, 44 samples of instructions, 14 of them new" in rest, "not the whole file")


def _waits(check: Check) -> None:
    """There is no file yet: it says so once, and begins when there is one."""
    data = check.work / "later.data"
    with _top(check, data) as top:
        said = _until(check, top, "waiting")
        data.write_bytes(b"")
        data.write_bytes(_sample(check))
        status, rest = _rest(check, top)
    check.want(status == 0 and rest.count("waiting") == 0 and said.count("\n") == 1, "it does not say so once")
    check.want(len(_frames_of(rest)) == 1, "not one frame")


def _lost(check: Check) -> None:
    """A file that is dropped, cut off or damaged is one line and status 1."""
    whole, growing = _sample(check), check.work / "lost.data.AbCdEf"

    def cut() -> None:
        os.truncate(growing, 64)

    def damage() -> None:
        damaged = bytearray(whole)
        damaged[len(_begun(whole)) + 40] ^= 1
        growing.write_bytes(damaged)

    lose: Sequence[tuple[Callable[[], None], str]] = (
        (growing.unlink, "lwprun has dropped the file"), (cut, "the file was cut off"), (damage, "RECORDS: damaged"),
    )
    for action, words in lose:
        growing.write_bytes(_begun(whole))
        with _top(check, check.work / "lost.data") as top:
            _until(check, top, HOT)
            action()
            status, rest = _rest(check, top)
        said = [line for line in rest.splitlines() if line.startswith("lwpctl: ")]
        check.want(status == 1 and len(said) == 1 and words in said[0], f"{words}: status {status}, {said}")


def _shows(check: Check) -> None:
    """Events, windows, filters, and as many rows and looks as were asked for."""
    whole, data = _sample(check), check.work / "shown.data"
    data.write_bytes(whole)
    shown = (
        (["--event=branches"], [(13, HOT)], "13 samples of branches"),
        (["--limit=1"], [(30, HOT)], "44 samples of instructions"),
        (["--limit=0", "--symbol=*cold"], [(14, COLD)], "14 samples of instructions"),
        (["--thread=4243"], [(4, COLD)], "4 samples of instructions"),
    )
    for options, wanted, head in shown:
        _, text = check.text([*LIMIT, LWPCTL, "top", *options, data])
        rows = [(int(samples), symbol) for _, _, samples, symbol in _frames_of(text)[0]]
        check.want(rows == wanted and head in text, f"{options}: {rows}")
    data.write_bytes(_thinned(whole))
    _, text = check.text([*LIMIT, LWPCTL, "top", "--frames=1", data])
    mixed = [(symbol, share) for _, share, _, symbol in _frames_of(text)[0]]
    check.want(mixed == [(HOT, "51.72"), (COLD, "48.28")], f"30 and twice 14 are {mixed}")
    data.write_bytes(_sample(check, "--windows"))
    _, text = check.text([*LIMIT, LWPCTL, "top", "--event=branches", data])
    rows = [(int(samples), symbol) for _, _, samples, symbol in _frames_of(text)[0]]
    check.want(rows == [(6, HOT), (2, COLD)], f"windows: {rows}")
    # Nothing is new in the second look.
    windows = _sample(check, "--windows")[:-1]
    looks = ((_begun(whole), "instructions", ["100.00"]), (windows, "branches", ["75.00", "25.00"]))
    for begun, event, shares in looks:
        growing = check.work / f"{event}.data"
        growing.write_bytes(begun)
        options = ["--delay=0.05", "--frames=3", f"--event={event}"]
        status, text = check.text([*LIMIT, LWPCTL, "top", *options, growing])
        seen = [(share, now) for look in _frames_of(text) for now, share, _, _ in look]
        looked = [(share, share) for share in shares] + 2 * [(share, "0.00") for share in shares]
        check.want(status == 0 and seen == looked, f"looks at {event}: {seen}")


def _looks(check: Check, terminal: int, shown: str, nr: int) -> str:
    """All that it has shown when that are so many looks."""
    while shown.count(CLEAR) < 1 + nr:  # one before the first look
        check.want(select.select([terminal], [], [], PATIENCE)[0], f"not {nr} looks: {shown!r}")
        shown += os.read(terminal, 4096).decode()
    return shown


def _terminal(check: Check) -> None:
    """A look takes the place of the one before, and is not larger than the terminal. Only 'q' ends it, and the
    terminal is as it was."""
    growing = check.work / "keys.data"
    growing.write_bytes(_sample(check)[:-1])
    outer, inner = pty.openpty()
    rows, columns = 5, 42
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(inner)
    command: list[str | Path] = [*LIMIT, LWPCTL, "top", "--delay=3600", growing]
    top = proc.start(command, stdin=inner, stdout=inner, stderr=inner)
    try:
        text = _looks(check, outer, "", 1)
        os.write(outer, b"x")
        text = _looks(check, outer, text, 2)
        os.write(outer, b"q")
        status = proc.wait(top)
        after = termios.tcgetattr(inner)
    finally:
        proc.end(top)
        os.close(inner)
        os.close(outer)
    looks = [look.replace("\x1b[K", "").splitlines() for look in text.split(CLEAR)[1:3]]
    check.say(looks)
    for look in looks:
        check.want(look[0].startswith("\x1b[H"), "it does not begin at the top")
        check.want(len(look) < rows and all(len(line.replace("\x1b[H", "")) <= columns for line in look), "too large")
        check.want(look[3].endswith(f"30  {HOT}"), f"not the hottest function, cut off: {look[3]!r}")
    check.want(status == 0 and after == before, f"status {status}, or the terminal is another")


CHECKS: tuple[tuple[str, Callable[[Check], None]], ...] = (
    ("top: a file that grows", _grows),
    ("top: a file that is not there yet", _waits),
    ("top: a file that is lost", _lost),
    ("top: what it shows", _shows),
    ("top: in a terminal", _terminal),
)
