# SPDX-License-Identifier: GPL-2.0-or-later
"""The ELF kernel inside a bzImage, for booting through its PVH entry, which spares the guest the decompression.
The numbers are those of Linux' Documentation/arch/x86/boot.rst, 2.08 and later."""

import lzma
import re
import struct
import subprocess
import zlib
from collections.abc import Callable

SETUP_SECTS, MAGIC, VERSION, NAME, PAYLOAD = 0x1F1, 0x202, 0x206, 0x20E, 0x248
SECTOR = 512
NAMES_AT = 0x200  # what NAME counts from
TAIL = 4  # bytes at the payload's end: the length of the decompressed kernel


FORMATS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x28\xb5\x2f\xfd": lambda data: subprocess.check_output(["zstd", "-dcq"], input=data, stderr=subprocess.DEVNULL),
    b"\xfd7zXZ": lambda data: lzma.LZMADecompressor().decompress(data),
    b"\x1f\x8b\x08": lambda data: zlib.decompressobj(wbits=31).decompress(data),
}


def plain(data: bytes) -> bytes:
    """What was compressed in one of the formats, else the data."""
    return next((FORMATS[magic](data) for magic in FORMATS if data.startswith(magic)), data)


def release(image: bytes) -> str:
    """The kernel's version as by uname -r. ValueError says what is wrong with the image."""
    if not image.startswith(b"HdrS", MAGIC):
        raise ValueError("not a Linux bzImage")
    name = image[struct.unpack_from("<H", image, NAME)[0] + NAMES_AT:][:256].partition(b" ")[0]
    if not re.fullmatch(rb"[\w.+~-]{1,64}", name):
        raise ValueError("it does not say its version")
    return name.decode()


def unpack(image: bytes) -> bytes:
    """Result: the kernel. ValueError says what is wrong with the image."""
    if len(image) < PAYLOAD + 8 or not image.startswith(b"HdrS", MAGIC):
        raise ValueError("not a Linux bzImage")
    if struct.unpack_from("<H", image, VERSION) < (0x208,):
        raise ValueError("boot protocol older than 2.08")
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    begin = ((image[SETUP_SECTS] or 4) + 1) * SECTOR + offset
    end = begin + length - TAIL
    if end + TAIL > len(image) or length <= TAIL:
        raise ValueError("its payload lies outside the file")
    payload, size = image[begin:end], int.from_bytes(image[end:][:TAIL], "little")
    decompress = next((FORMATS[magic] for magic in FORMATS if payload.startswith(magic)), None)
    if not decompress:
        raise ValueError("its compression is none of zstd, xz, gzip")
    try:
        kernel = decompress(payload)
    except (OSError, subprocess.CalledProcessError, lzma.LZMAError, zlib.error) as err:
        raise ValueError(f"cannot decompress it: {err}") from err
    if len(kernel) != size:
        raise ValueError(f"{len(kernel)} bytes are unpacked, {size} were packed")
    return kernel
