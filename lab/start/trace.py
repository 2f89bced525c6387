# SPDX-License-Identifier: GPL-2.0-or-later
"""A complete trace of branches (lwprun --windows=all): what it has. docs/lwpdata.md is the format."""

import struct
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


def taken(data: Path) -> int:
    """How many branches of the trace were taken. The file is whole: lwprun gives it its name at the end."""
    content = memoryview(data.read_bytes())
    at, number = PREAMBLE, 0
    while at < len(content):
        kind, _, size = HEADER.unpack_from(content, at)
        payload = content[at + HEADER.size:][:size]
        if kind == WINDOW:
            number += bytes(payload[WINDOW_HEAD + FLAGS_HIGH::RECORD]).translate(_IS_TAKEN).count(1)
        if kind == THREAD_END and struct.unpack_from("<Q", payload, 24)[0]:
            raise Died("the trace of branches is not complete")
        at += HEADER.size + size + -size % 8
    return number
