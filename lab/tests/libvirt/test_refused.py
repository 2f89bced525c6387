# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused by QEMU: the small domain leaves its LWP open, and the destination's host file says another one."""

from collections.abc import Sequence

import pytest

from lab.tests.libvirt.hosts import BARE, State
from lab.tests.libvirt.site import P2P, Site
from lab.tests.migrate.test_mismatch import MISMATCHES

pytestmark = pytest.mark.xdist_group("libvirt-refused")

# What virsh says if it hears the source's QEMU first, which knows only that it has lost the destination.
LOST = ("job 'migration out' failed", "job 'migration in' failed")


def settings(properties: str) -> State:
    """A host whose file gives a CPU with LWP these properties."""
    return State(file=tuple(properties.split(",")[1:]))


def refused(
    site: Site, source: State, properties: Sequence[str], destination: State, says: str,
    options: Sequence[str] = P2P, or_else: Sequence[str] = (),
) -> None:
    """The domain with these properties stays at its source, and the destination's log says why."""
    a, b = site.host("A", source), site.host("B", destination)
    site.stays(site.up(a, properties), b, says, options, or_else)
    assert says in b.said()


@pytest.mark.parametrize("source, destination, says", [
    pytest.param(*row[1:], id=row[0].replace(" ", "-"))
    for row in MISMATCHES if row[2].startswith("+lwp,") and "lwp-vmcb=on" not in row[1]  # which no host file has
])
def test_refused(site: Site, source: str, destination: str, says: str) -> None:
    """The destination's QEMU refuses what the domain leaves open; the guest continues, the log names the difference."""
    refused(site, settings(source), (), settings(destination), says, or_else=LOST)


@pytest.mark.unpatched
@pytest.mark.parametrize("properties, says", [
    pytest.param((), "ECX.lwp [bit 15]", id="leaves-open"),
    pytest.param(("lwp-max-events=3",), "lwp-max-events' not found", id="says-number"),
])
def test_refused_unpatched(site: Site, properties: tuple[str, ...], says: str) -> None:
    """A destination without LWP."""
    refused(site, State(), properties, BARE, says)
