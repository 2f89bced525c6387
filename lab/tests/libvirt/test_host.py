# SPDX-License-Identifier: GPL-2.0-or-later
"""The host file under a libvirt without patches: it gives the numbers, lets libvirt see lwp, and what differs is
refused. The domain says no number, and has no word for QEMU."""

import re
import shlex

import pytest

from lab.common.places import TOP
from lab.tests.libvirt import domains
from lab.tests.libvirt.hosts import ALL, BARE, EMULATOR, SMALL, Host, State
from lab.tests.libvirt.site import P2P, Site

pytestmark = pytest.mark.xdist_group("libvirt-host")

FILE = ("announce=on", "lwp-max-events=3", "lwp-ptsc=off")
SET = State(file=FILE)
OTHER = State(file=("announce=on", "lwp-max-events=4", "lwp-ptsc=off"))
FEWER = "LWP: source offers 3 events, this host 4: start both with lwp-max-events=3"
ASKED = ("--virttype", "qemu", "--emulator", EMULATOR)
SERVICE = TOP / "debian/vlwp-qemu.service"
PLAIN = domains.small(None)  # without a word for QEMU


@pytest.fixture
def a(site: Site) -> Host:
    """Host A with the file."""
    return site.host("A", SET)


def has_lwp(host: Host) -> bool:
    """The host model of what libvirt can give has lwp."""
    return "<feature policy='require' name='lwp'/>" in host.capabilities()


def test_host_announced(a: Host) -> None:
    """libvirt's capabilities, its comparison and its baseline have lwp."""
    assert has_lwp(a)


def test_host_not_announced(site: Site) -> None:
    """They have not without announce=on, and without a file."""
    assert not has_lwp(site.host("A", State(file=FILE[1:])))
    assert not has_lwp(site.host("A", ALL))


def test_host_installed(site: Site) -> None:
    """A libvirt that runs asks its emulator again when that has been touched, as the package does for a new file."""
    a = site.host("A", ALL)
    assert not has_lwp(a)
    (a.dir / "etc/vlwp/host.conf").write_text("announce=on\n", encoding="utf-8")
    assert not has_lwp(a)
    assert "ExecStart=/usr/bin/touch -c /usr/lib/vlwp/bin/" in SERVICE.read_text(encoding="utf-8")
    a.touch()
    assert has_lwp(a)


def test_host_compare(site: Site, a: Host) -> None:
    """hypervisor-cpu-compare finds that the host can do more than the domain requires, lwp included."""
    said = a.do("hypervisor-cpu-compare", *ASKED, "--error", site.write(PLAIN))
    assert "superset" in said


def test_host_baseline(site: Site, a: Host) -> None:
    """hypervisor-cpu-baseline has lwp if both hosts announce it."""
    b = site.host("B", OTHER)
    common = [a.do("hypervisor-cpu-baseline", *ASKED, site.both(a, site.host("B", state))) for state in (OTHER, ALL)]
    assert b.state == ALL and ["name='lwp'" in one for one in common] == [True, False]


def test_host_required(site: Site, a: Host) -> None:
    """policy='require' with check='partial' starts, with the numbers of the file, of which the domain says none."""
    site.start(a, PLAIN)
    site.has(a, "lwp-max-events", 3)
    site.has(a, "lwp-ptsc", False)
    assert "lwp-" not in a.do("dumpxml", SMALL)


@pytest.mark.parametrize("mode", ["host-model", "maximum"])
def test_host_mode(site: Site, a: Host, mode: str) -> None:
    """host-model is what libvirt was told, lwp included; "maximum" (QEMU's max) has no lwp."""
    site.start(a, domains.small(None, mode=mode))
    site.has(a, "lwp", mode == "host-model")


def test_host_goes(site: Site, a: Host) -> None:
    """Between equal files it moves and comes back, and has the numbers that no XML carries."""
    b = site.host("B", SET)
    site.goes(site.start(a, PLAIN), b)
    site.has(a, "lwp-max-events", 3)


@pytest.mark.parametrize("options", [P2P, ()], ids=["p2p", "virsh"])
def test_host_unequal(site: Site, a: Host, options: tuple[str, ...]) -> None:
    """Unequal files: refused before memory is sent, and the destination's log says why."""
    b = site.host("B", OTHER)
    site.stays(site.start(a, PLAIN), b, FEWER, options, ("job 'migration out' failed", "job 'migration in' failed"))
    assert FEWER in b.said()


def test_host_explicit(site: Site, a: Host) -> None:
    """What a domain says itself wins."""
    site.start(a, domains.small(domains.settings(("lwp-max-events=5",)), lwp="require"))
    site.has(a, "lwp-max-events", 5)
    site.has(a, "lwp-ptsc", False)


def test_host_damaged(site: Site) -> None:
    """A damaged file: nothing starts, and virsh shows the line."""
    ended = site.create(site.host("A", State(file=("lwp-max-events=300",))), domains.small(domains.settings(())))
    assert ended.status and "/etc/vlwp/host.conf: line 1: " in ended.said


def arguments(host: Host) -> list[str]:
    """QEMU's arguments of the small domain as libvirt logs them, without those that name a place or a process."""
    command = re.findall(rf"^{EMULATOR} \\\n(?:.*\\\n)+.*$", host.said(), re.MULTILINE)[-1]
    return [word for word in shlex.split(command.replace("\\\n", " ")) if "/" not in word and "fd=" not in word]


@pytest.mark.unpatched
def test_host_without_file(site: Site) -> None:
    """Without a file libvirt starts a domain without LWP with the arguments that it has for a QEMU without LWP."""
    said = [arguments(site.start(site.host("A", state), domains.small(None, lwp="disable"))) for state in (ALL, BARE)]
    assert said[0] == said[1] and "-cpu" in said[0]
