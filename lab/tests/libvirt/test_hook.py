# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused by the hook: the small domain says its LWP, and the destination does not offer it; what the destination
offers is found out, or said by an administrator in /etc/libvirt/lwp-host.json."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lab.tests.libvirt.hosts import REDUCED, SMALL, State
from lab.tests.libvirt.site import Site

pytestmark = pytest.mark.xdist_group("libvirt-hook")

REFUSING = "lwp: refusing to migrate small here: "

# What an administrator may say of a host: one revision, one kind of contexts.
MODEST: Mapping[str, Any] = {
    "lwp_capabilities": 1,
    "host": "B",
    "source": "the administrator",
    "revisions": {
        "43724": {
            "contexts": ["auto"],
            "deliveries": ["exact"],
            "vmcb": False,
            "version": 1,
            "max_events": 6,
            "min_buffer": 1,
            "latency_max": 16,
            "latency_rounding": 0,
            "block_size": 176,
            "event_offset": 128,
            "event_size": 32,
            "features": ["lwp-val", "lwp-ire", "lwp-bre", "lwp-cnh", "lwp-rnh", "lwp-cont", "lwp-ptsc", "lwp-int"],
            "filters": ["ip-filtering"],
        }
    },
}
BITS = {
    "val": "LWPVAL records",
    "ire": "instruction records",
    "bre": "branch records",
    "cnh": "core clock records",
    "rnh": "reference clock records",
    "cont": "continuous mode",
    "ptsc": "time stamps in records",
    "int": "threshold interrupts",
}
# A domain that says each field of the leaf.
FIELDS = ("lwp-max-events=6", "lwp-min-buffer=1", *(f"lwp-{bit}=on" for bit in BITS))
SAID = State(offers=MODEST)
FEWER = "lwp-max-events: the guest needs 6, the host offers 3"


def lacks(*without: str, **changes: object) -> State:
    """What an administrator says, with other values, and without these features."""
    offers = copy.deepcopy(dict(MODEST))
    revision = offers["revisions"]["43724"]
    revision.update(changes)
    revision["features"] = [name for name in revision["features"] if name not in without]
    assert offers != MODEST
    return State(offers=offers)


OS = lacks(contexts=["os"])
# What the domain says, a host B that does not offer the last of it, and what the hook says.
TABLE: tuple[tuple[str, tuple[str, ...], State, str], ...] = (
    ("fewer-events", ("lwp-max-events=6",), State(lwp=("lwp-max-events=3",)), FEWER),
    ("missing-bit", ("lwp-cnh=on",), State(lwp=("lwp-cnh=off",)),
     "lwp-cnh: the guest needs core clock records, the host has none"),
    ("larger-ring", ("lwp-min-buffer=1",), State(lwp=("lwp-min-buffer=8",)),
     "lwp-min-buffer: the guest needs 1, the host's smallest is 8"),
    ("unpatched", (), State(patched=False), "lwp: the guest needs it, the host has none"),
    ("file-fewer-events", FIELDS, lacks("lwp-cnh", "lwp-rnh", max_events=3, block_size=152), FEWER),
    ("file-larger-ring", FIELDS, lacks(min_buffer=2), "lwp-min-buffer: the guest needs 1, the host's smallest is 2"),
    *((f"file-{bit}", FIELDS, lacks(f"lwp-{bit}"), f"lwp-{bit}: the guest needs {what}, the host has none")
      for bit, what in BITS.items()),
    ("file-another-revision", ("lwp-rev=2007",), SAID, "lwp-rev: the guest needs 2007, which the host does not offer"),
    ("file-contexts-of-system", ("lwp-context=os",), SAID,
     "lwp-context: the guest needs 'os', which the host does not offer"),
    ("file-another-delivery", ("lwp-delivery=prompt",), SAID,
     "lwp-delivery: the guest needs 'prompt', which the host does not offer"),
    ("file-no-auto", ("lwp-context=auto",), OS, "lwp-context: the guest needs 'auto', which"),
    ("file-no-vmcb", ("lwp-context=os", "lwp-vmcb=on"), OS, "lwp-vmcb: the host does not offer it"),
    ("file-silicon", ("lwp-profile=fam15h",), lacks("lwp-ire"), "lwp-profile=fam15h: the host lacks what it needs of"),
)


@pytest.mark.parametrize("properties, state, says", [
    pytest.param(*row[1:], id=row[0], marks=[pytest.mark.unpatched] * (row[0] == "unpatched")) for row in TABLE
])
def test_hook(site: Site, properties: Sequence[str], state: State, says: str) -> None:
    """Refused: what the domain says is missing at the destination, or an administrator says so (file-)."""
    a = site.up(site.host("A"), properties)
    live = a.do("dumpxml", SMALL)
    for one in properties:
        assert f"x86_64-cpu.{one}'" in live, f"the domain does not say {one}"
    site.stays(a, site.host("B", state), REFUSING + says)


def test_hook_file_counts(site: Site) -> None:
    """What /etc/libvirt/lwp-host.json says counts: B offers everything; its file says less."""
    offers = site.offers("B", REDUCED).read_text(encoding="utf-8")
    a = site.up(site.host("A"), ("lwp-max-events=6",))
    site.stays(a, site.host("B", State(offers=offers)), REFUSING + FEWER)


def test_hook_file_damaged(site: Site) -> None:
    """A damaged /etc/libvirt/lwp-host.json refuses, and says so."""
    says = "lwp: /etc/libvirt/lwp-host.json: line 2: expected more JSON, the file ends"
    site.stays(site.up(site.host("A")), site.host("B", State(offers="{\n")), says)


@pytest.mark.parametrize("properties, state", [
    pytest.param(FIELDS, SAID, id="file-suffices"),
    pytest.param(("lwp-max-events=6", "lwp-dme=on"), State(), id="found-out"),
])
def test_hook_fits(site: Site, properties: Sequence[str], state: State) -> None:
    """What fits is started, goes, and comes back: it is found out, or what an administrator says of B suffices."""
    site.goes(site.up(site.host("A"), properties), site.host("B", state))
