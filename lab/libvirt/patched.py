# SPDX-License-Identifier: GPL-2.0-or-later
"""The patched libvirt: hosts E and F (its modular daemon) have it, and G, which offers less. The domains say their LWP
in words of libvirt, and no host has the hook."""

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from lab.common.report import Check
from lab.libvirt import domains
from lab.libvirt.cpumap import BITS
from lab.libvirt.hosts import EMULATOR, Host, State
from lab.libvirt.site import REDUCED, Row, Site, one

NO_HOOK = State(hook=False)
LESS = State(lwp=REDUCED.lwp, hook=False)
ALL_BITS = (*BITS, "ptsc")
# What the running domain says if it leaves all open.
NUMBERS = {
    **{"revision": "43724", "contexts": "auto", "delivery": "exact"},
    **{"maxEvents": "6", "minBuffer": "1", "latencyBits": "16", "latencyRounding": "0"},
}
MISSING = "Host CPU does not provide required features: lwp"


def _host(check: Check, site: Site, name: str) -> Host:
    return site.host(check, name, LESS if name == "G" else NO_HOOK)


def _domain(numbers: Mapping[str, str] | None = None, **words: object) -> Element:
    """The small domain without a word for QEMU, with <lwp> if there is anything to say in it."""
    words.setdefault("lwp", "require")
    domain = domains.small(**words)  # type: ignore[arg-type]
    for said in domain.findall(f"{{{domains.QEMU}}}commandline"):
        domain.remove(said)
    if numbers:
        cpu = domain.find("cpu")
        assert cpu is not None
        SubElement(cpu, "lwp", dict(numbers))
    return domain


def _start(check: Check, site: Site, name: str, domain: Element) -> Host:
    host = _host(check, site, name)
    site.destroy(check)
    status, _ = site.small.create(check, host, domain)
    check.want(status == 0, "it does not start")
    return host


def _says(check: Check, host: Host) -> tuple[dict[str, str], dict[str, str]]:
    """What the running domain says: the attributes of <lwp>, and the policies of features of LWP."""
    cpu = ElementTree.fromstring(host.do(check, "dumpxml", "small")).find("cpu")
    assert cpu is not None
    lwp = cpu.find("lwp")
    features = {str(one.get("name")): str(one.get("policy")) for one in cpu.iterfind("feature")}
    return dict(lwp.attrib) if lwp is not None else {}, {k: v for k, v in features.items() if k.startswith("lwp")}


def _running(check: Check, host: Host, numbers: Mapping[str, str], bits: Sequence[str]) -> None:
    found, features = _says(check, host)
    check.want(found == numbers, f"the running domain says {found}")
    has = {name for name, policy in features.items() if policy in ("require", "force")}
    check.want(has == {"lwp", *(f"lwp-{bit}" for bit in bits)}, f"the running domain says {features}")


def _open(check: Check, site: Site) -> None:
    _running(check, _start(check, site, "E", _domain()), NUMBERS, ALL_BITS)


FEWER = {"maxEvents": "4", "minBuffer": "2", "latencyBits": "12", "latencyRounding": "1"}


def _numbers(check: Check, site: Site) -> None:
    domain = _domain(FEWER, features={"lwp-ptsc": "disable"})
    e = _start(check, site, "E", domain)
    _running(check, e, {**NUMBERS, **FEWER}, tuple(bit for bit in ALL_BITS if bit not in ("ptsc", "cnh", "rnh")))
    site.small.has(check, e, "lwp-max-events", 4)
    site.small.has(check, e, "lwp-ptsc", False)
    log = e.qemu_log("small").read_text(encoding="utf-8", errors="replace")
    tainted = [line for line in log.splitlines() if "custom-argv" in line]
    check.want(not tainted, "\n".join(tainted))


def _goes(check: Check, site: Site) -> None:
    e = _start(check, site, "E", _domain(FEWER))
    site.small.goes(check, e, _host(check, site, "F"))


def _refused(check: Check, site: Site, numbers: Mapping[str, str], features: Mapping[str, str], text: str) -> None:
    """G refuses before it has started a QEMU."""
    e = _start(check, site, "E", _domain(numbers, features=features))
    g = _host(check, site, "G")
    log = g.qemu_log("small")
    log.unlink(missing_ok=True)
    site.small.stays(check, e, g, text)
    check.want(not log.exists(), "a QEMU was started")


def _not_started(check: Check, site: Site, domain: Element, text: str) -> None:
    g = _host(check, site, "G")
    site.destroy(check)
    status, said = site.small.create(check, g, domain)
    check.want(status, "it has started")
    check.want(text in said, f"virsh does not say '{text}'")


def _baseline(check: Check, site: Site) -> None:
    both = site.work / "patched.xml"
    both.write_text("".join(_host(check, site, name).capabilities(check) for name in "EG"), encoding="utf-8")
    e = _host(check, site, "E")
    cpu = e.do(check, "hypervisor-cpu-baseline", "--virttype", "qemu", "--emulator", EMULATOR, both)
    tree = ElementTree.fromstring(cpu)
    lwp = tree.find("lwp")
    check.want(lwp is not None, "there is no <lwp>")
    assert lwp is not None
    check.want(lwp.attrib == {**NUMBERS, "maxEvents": "3", "minBuffer": "4"}, f"it has {lwp.attrib}")
    features = {one.get("name"): one.get("policy") for one in tree.iterfind("feature")}
    check.want(features.get("lwp-ptsc") == "disable", "lwp-ptsc is not disabled")
    check.want("lwp" not in features, "it switches LWP on")


def _compare(check: Check, site: Site) -> None:
    words = ("hypervisor-cpu-compare", "--virttype", "qemu", "--emulator", EMULATOR, "--error")
    for name, fits in (("E", True), ("G", False)):
        xml = site.small.write(domains.text_of(_domain({"maxEvents": "6"})))
        status, said = _host(check, site, name).virsh(check, *words, xml, stderr=True)
        check.want((status == 0) == fits, f"{name}: it is {'not ' if fits else ''}compatible")
        if not fits:
            check.want("the guest needs maxEvents='6', the host offers '3'" in said, "virsh does not say why")


def _host_model(check: Check, site: Site) -> None:
    """LWP hides FSGSBASE, so only who asks for it gets it."""
    domain = _domain()
    cpu = domain.find("cpu")
    assert cpu is not None
    cpu.clear()
    cpu.set("mode", "host-model")
    e = _start(check, site, "E", domain)
    check.want(_says(check, e)[0] == {}, "the running domain has <lwp>")
    site.small.has(check, e, "lwp", False)


def _hints(check: Check, site: Site) -> None:
    """What docs/libvirt.md tells for unpatched libvirt runs and migrates as before."""
    args = domains.settings(("lwp-max-events=3", "lwp-ptsc=off", "lwp-min-buffer=4"))
    e = _start(check, site, "E", domains.small(args))
    _running(check, e, {**NUMBERS, "maxEvents": "3", "minBuffer": "4"}, ("val", "ire", "bre", "cont", "int"))
    site.small.goes(check, e, _host(check, site, "G"))


def _unpatched(check: Check, site: Site) -> None:
    e = _start(check, site, "E", _domain(FEWER))
    site.small.stays(check, e, site.host(check, "A", NO_HOOK), "unknown CPU feature: lwp-")


def _from_unpatched(check: Check, site: Site) -> None:
    a, e = site.host(check, "A", NO_HOOK), _host(check, site, "E")
    site.up(check, a)
    status, _ = site.small.move(check, a, e, ("--p2p",))
    check.want(status == 0, "it does not move")
    _running(check, e, NUMBERS, ALL_BITS)


ROWS: tuple[Row, ...] = (
    one("patched/open", "patched: policy='require' starts it, and the running domain says its numbers and bits", _open),
    one("patched/numbers", "patched: <lwp> has the numbers, policy='disable' drops a bit", _numbers),
    one("patched/goes", "patched: it goes where the host offers as much, and comes back", _goes),
    one("patched/fewer-events", "patched: fewer events are refused before QEMU is started", _refused, {}, {},
        "LWP: the guest needs maxEvents='6', the host offers '3'"),
    one("patched/larger-ring", "patched: so is a larger smallest ring", _refused, {"maxEvents": "3"}, {},
        "LWP: the guest needs minBuffer='1', the host offers '4'"),
    one("patched/missing-bit", "patched: so is a missing bit", _refused, {"maxEvents": "3", "minBuffer": "4"}, {},
        "lwp-ptsc"),
    one("patched/start", "patched: a number that the host does not offer is refused at the start", _not_started,
        _domain({"maxEvents": "6"}), "LWP: the guest needs maxEvents='6', the host offers '3'"),
    one("patched/baseline", "patched: hypervisor-cpu-baseline has what both hosts have in common", _baseline),
    one("patched/compare", "patched: hypervisor-cpu-compare compares the numbers", _compare),
    one("patched/host-model", "patched: host-model has no LWP", _host_model),
    one("patched/commandline", "patched: a domain that says its numbers to QEMU runs and migrates as before", _hints),
    one("patched/from-unpatched", "patched: a domain comes from an unpatched libvirt", _from_unpatched),
    one("patched/to-unpatched", "patched: an unpatched libvirt refuses it, and says why", _unpatched),
)
