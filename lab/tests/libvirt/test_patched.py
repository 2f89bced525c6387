# SPDX-License-Identifier: GPL-2.0-or-later
"""The patched libvirt (./vlwp soak libvirt): hosts E and F (its modular daemon) have it, and G, which offers less. The
domains say their LWP in words of libvirt."""

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import pytest

from lab.tests.libvirt import domains
from lab.tests.libvirt.hosts import EMULATOR, REDUCED, SMALL, Host
from lab.tests.libvirt.site import Site

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("libvirt-patched")]

ALL_BITS = ("bre", "cnh", "cont", "int", "ire", "ptsc", "rnh", "val")
# What the running domain says if it leaves all open.
NUMBERS = {
    **{"revision": "43724", "contexts": "auto", "delivery": "exact"},
    **{"maxEvents": "6", "minBuffer": "1", "latencyBits": "16", "latencyRounding": "0"},
}
FEWER = {"maxEvents": "4", "minBuffer": "2", "latencyBits": "12", "latencyRounding": "1"}
TOO_MANY = "the guest needs maxEvents='6', the host offers '3'"


@pytest.fixture
def e(site: Site) -> Host:
    """It offers everything."""
    return site.host("E")


@pytest.fixture
def g(site: Site) -> Host:
    """It offers less."""
    return site.host("G", REDUCED)


def cpu_of(domain: Element) -> Element:
    """<cpu>."""
    cpu = domain.find("cpu")
    assert cpu is not None
    return cpu


def small(numbers: Mapping[str, str] | None = None, features: Mapping[str, str] | None = None) -> Element:
    """The small domain without a word for QEMU, with <lwp> if there is anything to say in it."""
    domain = domains.small(lwp="require", features=features)
    for said in domain.findall(f"{{{domains.QEMU}}}commandline"):
        domain.remove(said)
    if numbers:
        SubElement(cpu_of(domain), "lwp", dict(numbers))
    return domain


def says(host: Host) -> tuple[dict[str, str], dict[str, str]]:
    """What the running domain says: the attributes of <lwp>, and the policies of features of LWP."""
    cpu = cpu_of(ElementTree.fromstring(host.do("dumpxml", SMALL)))
    lwp = cpu.find("lwp")
    features = {str(one.get("name")): str(one.get("policy")) for one in cpu.iterfind("feature")}
    return dict(lwp.attrib) if lwp is not None else {}, {k: v for k, v in features.items() if k.startswith("lwp")}


def running(host: Host, numbers: Mapping[str, str], bits: Sequence[str]) -> None:
    """The running domain says these numbers and bits."""
    found, features = says(host)
    assert found == numbers
    has = {name for name, policy in features.items() if policy in ("require", "force")}
    assert has == {"lwp", *(f"lwp-{bit}" for bit in bits)}, f"the running domain says {features}"


def test_patched_open(site: Site, e: Host) -> None:
    """policy='require' starts it, and the running domain says its numbers and bits."""
    running(site.start(e, small()), NUMBERS, ALL_BITS)


def test_patched_numbers(site: Site, e: Host) -> None:
    """<lwp> has the numbers, policy='disable' drops a bit, 'require' adds misses; the domain is not tainted."""
    site.start(e, small(FEWER, {"lwp-ptsc": "disable", "lwp-dme": "require"}))
    running(e, {**NUMBERS, **FEWER}, ("dme", "bre", "cont", "int", "ire", "val"))
    site.has(e, "lwp-max-events", 4)
    site.has(e, "lwp-ptsc", False)
    assert "custom-argv" not in e.said()


def test_patched_goes(site: Site, e: Host) -> None:
    """It goes where the host offers as much, and comes back."""
    site.goes(site.start(e, small(FEWER)), site.host("F"))


@pytest.mark.parametrize("numbers, text", [
    pytest.param({}, f"LWP: {TOO_MANY}", id="fewer-events"),
    pytest.param({"maxEvents": "3"}, "LWP: the guest needs minBuffer='1', the host offers '4'", id="larger-ring"),
    pytest.param({"maxEvents": "3", "minBuffer": "4"}, "lwp-ptsc", id="missing-bit"),
])
def test_patched(site: Site, e: Host, g: Host, numbers: Mapping[str, str], text: str) -> None:
    """Refused before QEMU is started at the destination."""
    site.stays(site.start(e, small(numbers)), g, text)
    assert not g.qemu_log.exists(), "a QEMU was started"


def test_patched_start(site: Site, g: Host) -> None:
    """A number that the host does not offer is refused at the start."""
    ended = site.create(g, small({"maxEvents": "6"}))
    assert ended.status, "it has started"
    assert f"LWP: {TOO_MANY}" in ended.said


def test_patched_baseline(site: Site, e: Host, g: Host) -> None:
    """hypervisor-cpu-baseline has what both hosts have in common."""
    cpu = e.do("hypervisor-cpu-baseline", "--virttype", "qemu", "--emulator", EMULATOR, site.both(e, g))
    tree = ElementTree.fromstring(cpu)
    lwp = tree.find("lwp")
    assert lwp is not None and lwp.attrib == {**NUMBERS, "maxEvents": "3", "minBuffer": "4"}
    features = {one.get("name"): one.get("policy") for one in tree.iterfind("feature")}
    assert features.get("lwp-ptsc") == "disable"
    assert "lwp" not in features, "it switches LWP on"


def test_patched_compare(site: Site, e: Host, g: Host) -> None:
    """hypervisor-cpu-compare compares the numbers."""
    xml = site.write(small({"maxEvents": "6"}))
    words = ("hypervisor-cpu-compare", "--virttype", "qemu", "--emulator", EMULATOR, "--error", xml)
    assert e.virsh(*words).status == 0
    ended = g.virsh(*words)
    assert ended.status and TOO_MANY in ended.said


def test_patched_host_model(site: Site, e: Host) -> None:
    """host-model has no LWP: only who asks for it gets it."""
    domain = small()
    cpu_of(domain).clear()
    cpu_of(domain).set("mode", "host-model")
    site.start(e, domain)
    assert says(e)[0] == {}, "the running domain has <lwp>"
    site.has(e, "lwp", False)


def test_patched_commandline(site: Site, e: Host, g: Host) -> None:
    """A domain that says its numbers to QEMU, as docs/libvirt.md tells for unpatched libvirt, runs and migrates as
    before."""
    site.start(e, domains.small(domains.settings(REDUCED.lwp)))
    running(e, {**NUMBERS, "maxEvents": "3", "minBuffer": "4"}, ("val", "ire", "bre", "cont", "int"))
    site.goes(e, g)


def test_patched_from_unpatched(site: Site, e: Host) -> None:
    """A domain comes from an unpatched libvirt."""
    assert site.move(site.up(site.host("A")), e).status == 0, "it does not move"
    running(e, NUMBERS, ALL_BITS)


def test_patched_to_unpatched(site: Site, e: Host) -> None:
    """An unpatched libvirt refuses it, and says why."""
    site.stays(site.start(e, small(FEWER)), site.host("A"), "unknown CPU feature: lwp-")
