# SPDX-License-Identifier: GPL-2.0-or-later
"""Traps: what libvirt and QEMU do when they are told LWP in another way than docs/libvirt.md says."""

from xml.etree.ElementTree import Element

import pytest

from lab.tests.libvirt import domains
from lab.tests.libvirt.hosts import ALL, BARE, EMULATOR, SMALL, State
from lab.tests.libvirt.site import P2P, Site

pytestmark = pytest.mark.xdist_group("libvirt-trap")

ENFORCE = domains.settings(())


def test_trap_other_numbers(site: Site) -> None:
    """virsh migrate --xml with less than the guest has seen is refused by QEMU."""
    b = site.host("B")
    a = site.up(site.host("A"), ("lwp-max-events=6",))
    xml = a.do("dumpxml", "--migratable", SMALL)
    assert "lwp-max-events=6" in xml, "the domain does not say it"
    other = site.work / "other.xml"
    other.write_text(xml.replace("lwp-max-events=6", "lwp-max-events=3"), encoding="utf-8")
    site.stays(a, b, "", (*P2P, "--xml", str(other)))
    assert "LWP: source offers 6 events, this host 3" in b.said()


@pytest.mark.parametrize("state, domain, says", [
    pytest.param(ALL, domains.small(ENFORCE, lwp="require"), "Host CPU does not provide required features: lwp",
                 id="require"),
    pytest.param(ALL, domains.small(["-global", "x86_64-cpu.lwp-frob=1"]), "lwp-frob' not found", id="no-property"),
    pytest.param(ALL, domains.small(ENFORCE, check="full"),
                 "guest CPU doesn't match specification: extra features: hypervisor,lahf_lm", id="check-full"),
    pytest.param(BARE, domains.small(ENFORCE), "TCG doesn't support requested features", id="enforced",
                 marks=pytest.mark.unpatched),
])
def test_trap(site: Site, state: State, domain: Element, says: str) -> None:
    """Not started: libvirt refuses policy='require' and check='full' by hand, QEMU a property that is not there, and
    enforce=on on a host without LWP."""
    ended = site.create(site.host("A", state), domain)
    assert ended.status, "it has started"
    assert says in ended.said


def test_trap_override(site: Site) -> None:
    """<qemu:override> changes nothing of a CPU, without a word."""
    domain = domains.small(ENFORCE)
    domains.override(domain, "lwp-max-events", 3)
    a = site.start(site.host("A"), domain)
    assert "lwp-max-events" in a.do("dumpxml", SMALL), "the running domain does not say it"
    site.has(a, "lwp-max-events", 6)


def test_trap_second_cpu(site: Site) -> None:
    """A second -cpu replaces libvirt's: it says what the CPU is to be, in words that both of QEMU's ways understand."""
    domain = domains.small([*ENFORCE, "-cpu", "qemu64,+lwp,+xsave,lwp-max-events=2"])
    site.has(site.start(site.host("A"), domain), "lwp-max-events", 2)


def test_trap_baselines(site: Site) -> None:
    """cpu-baseline knows no emulator, hypervisor-cpu-baseline no LWP."""
    a = site.host("A")
    both = site.both(a, site.host("B"))
    ended = a.virsh("cpu-baseline", both)
    assert ended.status and "Missing CPU architecture" in ended.said, "virsh cpu-baseline takes them"
    said = a.do("hypervisor-cpu-baseline", "--virttype", "qemu", "--emulator", EMULATOR, both)
    assert "<model" in said and "lwp" not in said


def test_trap_cpu_compare(site: Site) -> None:
    """cpu-compare looks at the processor of this machine."""
    ended = site.host("A").virsh("cpu-compare", "--error", site.write(domains.small()))
    assert ended.status and "incompatible with host CPU" in ended.said, "virsh cpu-compare does not refuse it"


@pytest.mark.unpatched
def test_trap_not_enforced(site: Site) -> None:
    """Without enforce=on a host without LWP starts the domain without LWP."""
    a = site.start(site.host("A", BARE), domains.small(["-no-user-config"]))
    assert "<feature policy='disable' name='lwp'/>" in a.do("dumpxml", SMALL)
