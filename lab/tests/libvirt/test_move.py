# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest that is profiled moves from host A to host B and back."""

import json
from pathlib import Path

import pytest

from lab.common import places
from lab.tests.conftest import good, run
from lab.tests.libvirt import domains
from lab.tests.libvirt.hosts import REDUCED
from lab.tests.libvirt.site import P2P, Site
from lab.tests.moving import Guest

pytestmark = pytest.mark.xdist_group("libvirt-move")

NAME, XML = "guest", "guest.xml"

Offers = tuple[Path, Path]


@pytest.fixture(scope="module")
def offers(site: Site) -> Offers:
    """What lwpctl caps says of A, with all of LWP, and of B, with less."""
    return site.offers("A"), site.offers("B", REDUCED)


@pytest.fixture(scope="module")
def baseline(offers: Offers) -> str:
    """The CPU that lwpctl makes of what both offer."""
    return good([places.LWPCTL, "baseline", "--format=libvirt", "--model=qemu64", *offers])


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory, baseline: str) -> Guest:
    """The guest with the baseline, not started."""
    it = Guest(tmp_path_factory.mktemp("guest"))
    it.make()
    text = domains.guest(baseline, it.initrd, it.lines, it.cmdline)
    (it.work / XML).write_text(text, encoding="utf-8")
    return it


def test_move_offers(offers: Offers) -> None:
    """Host A offers six events, and says of nothing why it is not there; host B offers three, which its class has."""
    said = [json.loads(path.read_text(encoding="utf-8")) for path in offers]
    assert [one["revisions"]["43724"]["max_events"] for one in said] == [6, 3]
    assert [one["class"].split("-")[4] for one in said] == ["80062016", "80032013"]
    assert "reason" not in said[0], "something is not offered"


def test_move_baseline(baseline: str, guest: Guest, offers: Offers) -> None:
    """The baseline of both is what B offers; a domain with it fits both hosts, without a warning."""
    for setting in REDUCED.lwp:
        assert setting in baseline
    ended = run([places.LWPCTL, "check", guest.work / XML, *offers])
    assert ended.said == "yes: 2 hosts (A, B): guest has the same LWP\n"


def moves(site: Site, guest: Guest, source: str, target: str, number: int) -> None:
    """It moves live, at the beginning of a round and not later than its end."""
    one, other = site.hosts[source], site.hosts[target]
    guest.wait_for(number, "begins")
    one.do("migrate", "--live", *P2P, NAME, other.uri, "--migrateuri", f"unix://{site.work}/move")
    guest.is_in(number)
    assert other.state_of(NAME) == "running", f"it does not run on {target}"
    assert not one.state_of(NAME), f"it is still on {source}"


def test_move_profiled_guest(site: Site, guest: Guest, offers: Offers) -> None:
    """A guest that is profiled moves to B and back, each time in the middle of a round, of which nothing is lost and
    nothing counted twice. libvirt forgets it when it ends."""
    a, b = site.host("A"), site.host("B", REDUCED)
    a.do("define", guest.work / XML)
    a.do("start", NAME)
    a.do("undefine", NAME)
    try:
        undisturbed = guest.undisturbed()
        for source, target, number in (("A", "B", 2), ("B", "A", 4)):
            moves(site, guest, source, target, number)
            assert guest.truth(number) == undisturbed
        (guest.work / "live.xml").write_text(a.do("dumpxml", NAME), encoding="utf-8")
        good([places.LWPCTL, "check", guest.work / "live.xml", *offers])
    finally:
        for host in (a, b):
            host.virsh("destroy", NAME)
