# SPDX-License-Identifier: GPL-2.0-or-later
"""Is all that a guest needs as it was when somebody last saw to it? That is known from the times of files, in a few
milliseconds, where packages, stamps and hashes take half a second."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from lab.building import tools
from lab.common import places
from lab.common.steps import fresh, stamp

PACKAGES = Path("/var/lib/dpkg/status")
APART = {places.BUILD.name, ".git", "docs", "__pycache__"}  # nothing is built of these
STAMP = "ready"


def _sources(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in APART:
                    yield from _sources(entry.path)
            else:
                yield entry.path, entry.stat(follow_symlinks=False)


def _key() -> str:
    built = [places.qemu(), places.GUEST / "vmlinux", places.GUEST / "initramfs.cpio"]
    built += [places.HOST / name for name in tools.TO_RUN]
    built += [Path(places.OWN_KERNEL)] if places.OWN_KERNEL else []
    digest = hashlib.sha256(repr(sorted(item for item in os.environ.items() if item[0].startswith("VLWP_"))).encode())
    apart = [(str(path), path.stat()) for path in (*built, PACKAGES) if path.exists()]
    for path, status in (*_sources(str(places.TOP)), *apart):
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def unchanged() -> bool:
    """Nothing has changed since note(). A release is whole."""
    return places.RELEASE or fresh(STAMP, _key())


def note() -> None:
    """All is there, and up to date."""
    stamp(STAMP, _key())
