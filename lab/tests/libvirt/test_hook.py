# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused by the hook: the small domain says its LWP, and the destination's emulator does not offer it."""

from collections.abc import Sequence

import pytest

from lab.tests.libvirt.hosts import REDUCED, SMALL, State
from lab.tests.libvirt.site import Site

pytestmark = pytest.mark.xdist_group("libvirt-hook")

REFUSING = "lwp: refusing to migrate small here: "


@pytest.mark.parametrize("properties, state, says", [
    pytest.param(("lwp-max-events=6",), State(lwp=("lwp-max-events=3",)),
                 "lwp-max-events: the guest needs 6, the host offers 3", id="fewer-events"),
    pytest.param(("lwp-cnh=on",), State(lwp=("lwp-cnh=off",)),
                 "lwp-cnh: the guest needs core clock records, the host has none", id="missing-bit"),
    pytest.param(("lwp-min-buffer=1",), State(lwp=("lwp-min-buffer=8",)),
                 "lwp-min-buffer: the guest needs 1, the host's smallest is 8", id="larger-ring"),
    pytest.param((), State(patched=False), "lwp: the guest needs it, the host has none", id="unpatched",
                 marks=pytest.mark.unpatched),
])
def test_hook(site: Site, properties: Sequence[str], state: State, says: str) -> None:
    """Refused before QEMU is started: what the domain says is missing at the destination."""
    a = site.up(site.host("A"), properties)
    live = a.do("dumpxml", SMALL)
    for one in properties:
        assert f"x86_64-cpu.{one}'" in live, f"the domain does not say {one}"
    site.stays(a, site.host("B", state), REFUSING + says)


def test_hook_fits(site: Site) -> None:
    """What fits is started, goes, and comes back, also where the host file says less: what the domain says wins."""
    properties = ("lwp-max-events=6", "lwp-min-buffer=1", "lwp-ptsc=on", "lwp-dme=on")
    site.goes(site.up(site.host("A"), properties), site.host("B", State(file=REDUCED.lwp)))
