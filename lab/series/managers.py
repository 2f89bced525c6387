# SPDX-License-Identifier: GPL-2.0-or-later
"""The patches for Ganeti and Nova, by which whoever asks for a migration is told why it has failed. `./vlwp soak series
managers` applies them and runs the unit tests that they bring."""

from pathlib import Path

from lab.common.places import TOP
from lab.series import libvirt
from lab.series.tree import Author

# Upstream's versions in Debian 13.
VERSIONS = {"ganeti": "3.1.0~rc2", "nova": "31.0.0"}


def write(place: Path, who: Author) -> None:
    """All patches, in a folder for each below a folder."""
    for name in VERSIONS:
        libvirt.write_patches(place / name, sorted((TOP / "managers" / name).glob("*.patch")), who)
