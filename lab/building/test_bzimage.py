# SPDX-License-Identifier: GPL-2.0-or-later
"""bzImages as boot.rst describes them, made here."""

import gzip
import lzma
import struct
import subprocess

import pytest

from lab.building import bzimage

KERNEL = b"\x7fELF" + bytes(range(256)) * 20
GZIP = gzip.compress(KERNEL)[:-4]  # whose last four bytes are the length already
# Setup code of one sector after the boot sector; the payload begins 16 bytes after it.
SETUP = 1024


def _image(payload: bytes, kernel_size: int = len(KERNEL), version: int = 0x20F) -> bytearray:
    image = bytearray(SETUP + 16) + payload + kernel_size.to_bytes(4, "little") + b"behind it"
    image[0x1F1] = 1
    image[0x202:0x208] = b"HdrS" + version.to_bytes(2, "little")
    image[0x248:0x250] = (16).to_bytes(4, "little") + (len(payload) + 4).to_bytes(4, "little")
    return image


def test_each_compression() -> None:
    """zstd, xz as the kernel packs it, gzip."""
    zstd = subprocess.run(["zstd", "-cq"], input=KERNEL, stdout=subprocess.PIPE, check=True).stdout
    for payload in (zstd, lzma.compress(KERNEL, check=lzma.CHECK_CRC32), GZIP):
        assert bzimage.unpack(bytes(_image(payload))) == KERNEL


def test_no_setup_sectors_are_four() -> None:
    """As boot.rst says of old kernels."""
    image = _image(GZIP)
    image[0x1F1] = 0
    assert bzimage.unpack(bytes(image[:SETUP] + bytes(3 * 512) + image[SETUP:])) == KERNEL


def test_release() -> None:
    """The first word of the version that the header points to."""
    image = bytearray(_image(KERNEL))
    struct.pack_into("<H", image, bzimage.NAME, 0x300)
    image[0x500:0x500] = b"7.3.1-mine (me@here) #1\0"
    assert bzimage.release(bytes(image)) == "7.3.1-mine"
    for text in (b"", b"\0", b"../x ", b"a/b "):
        bad = bytes(image[:0x500]) + text
        with pytest.raises(ValueError, match="its version"):
            bzimage.release(bad)
    with pytest.raises(ValueError, match="not a Linux bzImage"):
        bzimage.release(b"\x7fELF" + bytes(1000))


def test_what_is_none_is_refused() -> None:
    """Each in its words."""
    for image, words in (
        (b"", "not a Linux bzImage"),
        (bytes(4096), "not a Linux bzImage"),
        (_image(GZIP, version=0x207), "older than 2.08"),
        (_image(GZIP)[: SETUP + 100], "outside the file"),
        (_image(b"\x89LZO" + GZIP), "none of zstd"),
        (_image(b"\xfd7zXZ" + GZIP), "cannot decompress"),
        (_image(b"\x28\xb5\x2f\xfd" + GZIP), "cannot decompress"),
        (_image(GZIP, kernel_size=len(KERNEL) + 1), f"{len(KERNEL)} bytes are unpacked"),
    ):
        with pytest.raises(ValueError, match=words):
            bzimage.unpack(bytes(image))
