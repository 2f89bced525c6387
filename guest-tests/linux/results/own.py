# SPDX-License-Identifier: GPL-2.0-or-later
"""A dictionary of strings, threads, long integers, floating point."""

import threading
import zlib

found = {}


def work(which: int) -> None:
    """A quarter of it."""
    counts: dict[str, int] = {}
    for i in range(which, 40000, 4):
        key = f"k{i % 997}"
        counts[key] = counts.get(key, 0) + i
    text = repr(sorted(counts.items())).encode()
    found[which] = zlib.crc32(zlib.decompress(zlib.compress(text)))


threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(found.items()), pow(3, 12345, 10**40 + 7), sum(1 / n for n in range(1, 50000)))
