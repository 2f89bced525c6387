# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused by the hook: the small domain says its LWP, and the destination's emulator does not offer it."""

from collections.abc import Sequence

import pytest

from lab.tests.libvirt.hosts import NO_HOOK, REDUCED, SMALL, State
from lab.tests.libvirt.site import Site

pytestmark = pytest.mark.xdist_group("libvirt-hook")

REFUSING = "lwp: refusing to migrate small here: "


@pytest.mark.parametrize("properties, state, says", [
    pytest.param(("lwp-min-buffer=0",), State(), "lwp-min-buffer: the guest needs 0, the host's smallest is 1",
                 id="smaller-ring"),
    pytest.param((), State(patched=False), "lwp: the guest needs it, the host has none", id="unpatched",
                 marks=pytest.mark.unpatched),
])
def test_hook(site: Site, properties: Sequence[str], state: State, says: str) -> None:
    """Refused before QEMU is started: what the domain says is missing at the destination."""
    a = site.up(site.host("A", NO_HOOK), properties)
    live = a.do("dumpxml", SMALL)
    for one in properties:
        assert f"x86_64-cpu.{one}'" in live, f"the domain does not say {one}"
    site.stays(a, site.host("B", state), REFUSING + says)


def test_hook_fits(site: Site) -> None:
    """What fits is started, goes, and comes back, also where the host's own defaults are less: what the domain says
    wins, and what it leaves open is not judged."""
    properties = ("lwp-max-events=6", "lwp-min-buffer=1", "lwp-ptsc=on", "lwp-dme=on")
    site.goes(site.up(site.host("A"), properties), site.host("B", REDUCED))
