# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages in fresh Debian systems: built in one, with lintian; tested by debian/tests in another, whose
modules load in the nested lab; installed and purged by piuparts."""

import shutil
from pathlib import Path

import pytest

from lab.building import kernel
from lab.common import archive
from lab.common.bases import linux_base
from lab.nested import l1
from lab.testing import fresh_root
from lab.testing.fresh_root import enter
from lab.tests.conftest import good
from lab.tests.soak.test_dkms import loads

APT = "DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends"
NAMES = ("liblwp-dev", "liblwp1", "vlwp-conformance", "vlwp-dkms", "vlwp-guest-tools", "vlwp-qemu", "vlwp-tools")
# What a Debian system must have to build them, besides what debian/control says.
TO_BUILD = ("git", "dpkg-dev", "lintian")


def _builds(root: Path, place: Path) -> None:
    good(enter(root, f"apt-get -q update; {APT} build-dep /home/vlwp"))
    log = "build/log/package-build"  # which goes with the system
    good(enter(root, f"cd /home/vlwp; ./vlwp package /home/packages || {{ tail -n 300 {log}; false; }}"))
    for name in NAMES:
        for file in (root / "home/packages").glob(f"{name}_*.deb"):
            shutil.copy(file, place)
    assert sorted(file.name.partition("_")[0] for file in place.iterdir()) == sorted(NAMES)


def _leaves_nothing(root: Path, suite: str) -> None:
    """What is installed and purged has left nothing, in a system that piuparts makes."""
    more = '--extra-repo "$(grep security /etc/apt/sources.list)"'
    good(enter(root, f"apt-get -q update; piuparts -d {suite} {more} --no-upgrade-test /home/packages/*.deb"))


@pytest.mark.soak
@pytest.mark.parametrize("suite", archive.RELEASES)
def test_packages(suite: str, tmp_path: Path) -> None:
    """They build, and lintian is content. In another system debian/tests passes, and the modules load; in a third they
    leave nothing behind."""
    fresh_root.require("soak packages")
    l1.prepare()
    place = tmp_path / "packages"
    place.mkdir()
    with fresh_root.fresh_root(suite, TO_BUILD) as root:
        _builds(root, place)
        good(enter(root, "cd /home/packages; lintian --fail-on error,warning $(ls *.deb | grep -v dbgsym)"))
    with fresh_root.fresh_root(suite, ("autopkgtest", "git")) as root:
        shutil.copytree(place, root / "home/packages")
        good(enter(root, "apt-get -q update; autopkgtest -B /home/packages/*.deb /home/vlwp/ -- null"))
        if suite == archive.debian_codename():  # whose kernel is that of the lab's guests
            loads(root, kernel.version(), linux_base())
    with fresh_root.fresh_root(suite, ("debootstrap", "git", "piuparts")) as root:
        shutil.copytree(place, root / "home/packages")
        _leaves_nothing(root, suite)
