# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPU map: hosts C and D have one that knows the bits of LWP, so the running domain says each of them."""

from xml.etree import ElementTree

import pytest

from lab.tests.libvirt.hosts import NO_HOOK, SMALL, Host, State
from lab.tests.libvirt.site import Site
from lab.tests.libvirt.test_hook import lacks

pytestmark = pytest.mark.xdist_group("libvirt-map")

BITS = ("bre", "cnh", "cont", "int", "ire", "rnh", "val")  # time stamps are off


@pytest.fixture
def source(site: Site) -> Host:
    """C, where the small domain runs without time stamps; C has no hook."""
    return site.up(site.host("C", NO_HOOK), ("lwp-ptsc=off",))


def test_map_bits(source: Host) -> None:
    """The running domain says each bit."""
    live = ElementTree.fromstring(source.do("dumpxml", SMALL))
    features = {str(one.get("name")): one.get("policy") for one in live.iterfind("cpu/feature")}
    found = {name: policy for name, policy in features.items() if name.startswith("lwp-")}
    assert found == {f"lwp-{bit}": "require" for bit in BITS}


def test_map_goes(site: Site, source: Host) -> None:
    """It goes where the map is the same, and comes back."""
    site.goes(source, site.host("D"))


@pytest.mark.parametrize("name, state, says", [
    pytest.param("D", lacks("lwp-cont"), "small here: lwp-cont: the guest needs continuous mode, the host has none",
                 id="hook"),
    pytest.param("D", State(lwp=("lwp-rev=2007",), hook=False),
                 "lwp-val=on: revision 2007 of LWP has no LWPVAL records", id="fewer-bits"),
    pytest.param("A", NO_HOOK, "unknown CPU feature: lwp-", id="without"),
])
def test_map(site: Site, source: Host, name: str, state: State, says: str) -> None:
    """Refused: the hook judges bits that only the running domain says; a QEMU that has not all of them is refused
    without the hook, too, and virsh says why; so is a libvirt without the map."""
    site.stays(source, site.host(name, state), says)
