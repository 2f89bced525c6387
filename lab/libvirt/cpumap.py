# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPU map: hosts C and D have one that knows the bits of LWP, so the running domain says each of them."""

from xml.etree import ElementTree

from lab.common.report import Check
from lab.libvirt.hook import modest
from lab.libvirt.hosts import Host, State
from lab.libvirt.site import Row, Site, one

BITS = ("bre", "cnh", "cont", "int", "ire", "rnh", "val")  # time stamps are off
NO_HOOK = State(hook=False)


def _source(check: Check, site: Site) -> Host:
    """C, where the small domain runs without time stamps; C has no hook."""
    c = site.host(check, "C", NO_HOOK)
    site.up(check, c, ("lwp-ptsc=off",))
    return c


def _mapped(check: Check, site: Site) -> None:
    live = ElementTree.fromstring(_source(check, site).do(check, "dumpxml", "small"))
    features = {str(one.get("name")): one.get("policy") for one in live.iterfind("cpu/feature")}
    found = {name: policy for name, policy in features.items() if name.startswith("lwp-")}
    check.want(found == {f"lwp-{bit}": "require" for bit in BITS}, f"the running domain says {found}")


def _goes(check: Check, site: Site) -> None:
    site.small.goes(check, _source(check, site), site.host(check, "D"))


def _stays(check: Check, site: Site, name: str, state: State, text: str) -> None:
    site.small.stays(check, _source(check, site), site.host(check, name, state), text)


ROWS: tuple[Row, ...] = (
    one("map/bits", "the CPU map: the running domain says each bit", _mapped),
    one("map/goes", "the CPU map: it goes where the map is the same, and comes back", _goes),
    one("map/hook", "the CPU map: the hook judges bits that only the running domain says", _stays, "D",
        State(offers=modest(without=("lwp-cont",))),
        "small here: lwp-cont: the guest needs continuous mode, the host has none"),
    one("map/fewer-bits",
        "the CPU map: a host that has not all of them is refused without the hook, too, and virsh says why", _stays,
        "D", State(lwp=("lwp-rev=2007",), hook=False), "lwp-val=on: revision 2007 of LWP has no LWPVAL records"),
    one("map/without", "the CPU map: a host without it is refused", _stays, "A", NO_HOOK, "unknown CPU feature: lwp-"),
)
