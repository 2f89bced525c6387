# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwprun's file has of a complete trace of branches (lwprun --windows=all). docs/lwpdata.md is the format."""

import struct
from collections.abc import Iterator
from pathlib import Path

PREAMBLE = 16
HEADER = struct.Struct("<IIQ")  # type, CRC, size
WINDOW = 0x8000000E
THREAD_END = 8
WINDOW_HEAD = 32
TKN = 0x80  # of a record's byte 3


def sections(data: Path) -> Iterator[tuple[int, memoryview]]:
    """Type and payload of each. The file is whole: lwprun gives it its name at the end."""
    content = memoryview(data.read_bytes())
    at = PREAMBLE
    while at < len(content):
        kind, _, size = HEADER.unpack_from(content, at)
        yield kind, content[at + HEADER.size:][:size]
        at += HEADER.size + size + -size % 8
