# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwprun's file has of a complete trace of branches (lwprun --windows=all). docs/lwpdata.md is the format."""

import struct
from collections.abc import Iterator
from pathlib import Path

from lab.common.say import Died

PREAMBLE = 16
HEADER = struct.Struct("<IIQ")  # type, CRC, size
WINDOW = 0x8000000E
THREAD_END = 8
WINDOW_HEAD = 32
RECORD = 32
FLAGS_HIGH = 3  # the byte of a record that has TKN
TKN = 0x80
_IS_TAKEN = bytes(1 if value & TKN else 0 for value in range(256))


def sections(data: Path) -> Iterator[tuple[int, memoryview]]:
    """Type and payload of each. The file is whole: lwprun gives it its name at the end."""
    content = memoryview(data.read_bytes())
    at = PREAMBLE
    while at < len(content):
        kind, _, size = HEADER.unpack_from(content, at)
        yield kind, content[at + HEADER.size:][:size]
        at += HEADER.size + size + -size % 8


def taken(data: Path) -> int:
    """How many branches of the trace were taken."""
    number = 0
    for kind, payload in sections(data):
        if kind == WINDOW:
            number += bytes(payload[WINDOW_HEAD + FLAGS_HIGH::RECORD]).translate(_IS_TAKEN).count(1)
        if kind == THREAD_END and struct.unpack_from("<Q", payload, 24)[0]:
            raise Died("the trace of branches is not complete")
    return number
