# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused by QEMU: the small domain leaves its LWP open, and the destination's is another one."""

from collections.abc import Sequence

import pytest

from lab.tests.libvirt.hosts import BARE, State
from lab.tests.libvirt.site import P2P, Site

pytestmark = pytest.mark.xdist_group("libvirt-refused")

FEWER = "LWP: source offers 6 events, this host 3: start both with lwp-max-events=3"
# What virsh says if it hears the source's QEMU first, which knows only that it has lost the destination.
LOST = ("job 'migration out' failed", "job 'migration in' failed")
BITS = ("ire", "bre", "cnh", "rnh", "cont", "ptsc", "int")
SILICON = ("lwp-max-events=3", "lwp-latency-max=0", "lwp-cont=off", "lwp-ptsc=off")

# Settings of lwp on the source and on the destination, and what the destination's QEMU says.
TABLE: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    ("fewer-events", (), ("lwp-max-events=3",), FEWER),
    ("missing-bit", (), ("lwp-val=off",),
     "LWP: source offers LWPVAL records, this host does not: start both with lwp-val=off"),
    *((f"without-{bit}", (), (f"lwp-{bit}=off",), f"start both with lwp-{bit}=off") for bit in BITS),
    ("smaller-latency", ("lwp-latency-max=20",), ("lwp-latency-max=12",),
     "LWP: source offers latencies of 20 bits, this host 12: start both with lwp-latency-max=12"),
    ("larger-ring", (), ("lwp-min-buffer=4",), "start both with lwp-min-buffer=4"),
    ("another-revision", (), ("lwp-rev=2007",),
     "LWP: source has lwp-rev=43724, this host 2007: start both with the same"),
    ("other-contexts", ("lwp-context=auto",), ("lwp-context=os",),
     "LWP: source has lwp-context=auto, this host os: start both with the same"),
    ("another-delivery", (), ("lwp-delivery=prompt",),
     "LWP: source has lwp-delivery=exact, this host prompt: start both with the same"),
    ("another-profile", ("lwp-profile=fam15h",), SILICON, "the same lwp-profile"),
)


def refused(
    site: Site, source: State, properties: Sequence[str], destination: State, says: str,
    options: Sequence[str] = P2P, or_else: Sequence[str] = (),
) -> None:
    """The domain with these properties stays at its source, and the destination's log says why."""
    a, b = site.host("A", source), site.host("B", destination)
    site.stays(site.up(a, properties), b, says, options, or_else)
    assert says in b.said()


@pytest.mark.parametrize("source, destination, says", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_refused(site: Site, source: tuple[str, ...], destination: tuple[str, ...], says: str) -> None:
    """The destination's QEMU refuses what the domain leaves open; the guest continues, the log names the difference."""
    refused(site, State(lwp=source), (), State(lwp=destination), says, or_else=LOST)


def test_refused_by_virsh(site: Site) -> None:
    """Fewer events are refused without --p2p, too."""
    refused(site, State(), (), State(lwp=("lwp-max-events=3",)), FEWER, (), LOST)


@pytest.mark.unpatched
@pytest.mark.parametrize("properties, says", [
    pytest.param((), "TCG doesn't support requested feature: CPUID.80000001H:ECX.lwp", id="leaves-open"),
    pytest.param(("lwp-max-events=3",), "lwp-max-events' not found", id="says-number"),
])
def test_refused_unpatched(site: Site, properties: tuple[str, ...], says: str) -> None:
    """A destination that has neither the hook nor LWP."""
    refused(site, State(), properties, BARE, says)
