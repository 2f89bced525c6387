# SPDX-License-Identifier: GPL-2.0-or-later
"""What libvirt knows of a QEMU after lwpctl host has installed a host's defaults."""

import shutil

import pytest

from lab.common.places import LWPCTL
from lab.tests.conftest import good
from lab.tests.libvirt.hosts import EMULATOR, NO_HOOK, State
from lab.tests.libvirt.site import Site

pytestmark = pytest.mark.xdist_group("libvirt-hook")


def test_installed_is_seen(site: Site) -> None:
    """A libvirt that runs asks the emulator again, and not before.

    The emulator is the host's own: its file says of which time libvirt's knowledge is."""
    emulator, file = site.work / "installed.sh", site.work / "installed.conf"
    shutil.copy(EMULATOR, emulator)
    file.write_text("announce=on\n", encoding="utf-8")
    known = site.host("A", NO_HOOK).capabilities(emulator)
    a = site.host("A", State(lwp=("aes=off",), hook=False))  # a default that unpatched libvirt knows, too
    assert a.capabilities(emulator) == known, "it asks although nothing is installed"
    good([LWPCTL, "host", f"--root={site.work}", f"--emulator={emulator}", file])
    assert "<feature policy='disable' name='aes'/>" in a.capabilities(emulator)
