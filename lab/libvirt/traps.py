# SPDX-License-Identifier: GPL-2.0-or-later
"""Traps: what libvirt and QEMU do when they are told LWP in another way than docs/libvirt.md says."""

from xml.etree.ElementTree import Element

from lab.common import proc
from lab.common.places import LWPCTL
from lab.common.report import Check
from lab.libvirt import domains
from lab.libvirt.hosts import EMULATOR, Host, State
from lab.libvirt.site import Row, Site, one

BARE = State(patched=False, hook=False)  # an unpatched host has no hook
ENFORCE = domains.settings(())


def _log_has(check: Check, host: Host, text: str) -> None:
    log = host.qemu_log("small").read_text(encoding="utf-8", errors="replace")
    check.say(log)
    check.want(text in log, f"the log of the domain on {host.name} does not say '{text}'")


def _other_numbers(check: Check, site: Site) -> None:
    """virsh migrate --xml with less than the guest has seen; the hook finds that B can give it."""
    a, b = site.host(check, "A"), site.host(check, "B")
    site.up(check, a, ("lwp-max-events=6",))
    xml = a.do(check, "dumpxml", "--migratable", "small")
    check.want("lwp-max-events=6" in xml, "the domain does not say lwp-max-events=6")
    other = site.work / "other.xml"
    other.write_text(xml.replace("lwp-max-events=6", "lwp-max-events=3"), encoding="utf-8")
    b.qemu_log("small").unlink(missing_ok=True)
    site.small.stays(check, a, b, "", options=("--p2p", "--xml", str(other)))
    _log_has(check, b, "LWP: source offers 6 events, this host 3")


def _fails_to_start(check: Check, site: Site, state: State, domain: Element, text: str) -> None:
    a = site.host(check, "A", state)
    site.destroy(check)
    status, said = site.small.create(check, a, domain)
    check.want(status, "it has started")
    check.want(text in said, f"virsh does not say '{text}'")


def _start(check: Check, site: Site, domain: Element, state: State = State(), name: str = "A") -> Host:
    """The small domain runs, from XML of a case."""
    host = site.host(check, name, state)
    site.destroy(check)
    status, _ = site.small.create(check, host, domain)
    check.want(status == 0, "it does not start")
    return host


def _overridden(check: Check, site: Site) -> None:
    domain = domains.small(ENFORCE)
    domains.override(domain, "lwp-max-events", 3)
    a = _start(check, site, domain)
    check.want("lwp-max-events" in a.do(check, "dumpxml", "small"), "the running domain does not say lwp-max-events")
    site.small.has(check, a, "lwp-max-events", 6)


def _two_cpus(check: Check, site: Site) -> None:
    """The second -cpu says what the CPU of the guest is to be, in words that both of QEMU's ways understand."""
    cpu = "qemu64,+lwp,-fsgsbase,+xsave,lwp-max-events=2"
    site.small.has(check, _start(check, site, domains.small([*ENFORCE, "-cpu", cpu])), "lwp-max-events", 2)


def _baselines(check: Check, site: Site) -> None:
    a = site.host(check, "A")
    both = site.work / "both.xml"
    both.write_text("".join(site.host(check, name).capabilities(check) for name in "AB"), encoding="utf-8")
    status, said = a.virsh(check, "cpu-baseline", both, stderr=True)
    check.want(status and "Missing CPU architecture" in said, "virsh cpu-baseline takes them")
    said = a.do(check, "hypervisor-cpu-baseline", "--virttype", "qemu", "--emulator", EMULATOR, both)
    check.want("<model" in said, "there is no model in it")
    check.want("lwp" not in said, "there is lwp in it")


def _compare(check: Check, site: Site) -> None:
    xml = site.small.write(domains.text_of(domains.small()))
    status, said = site.host(check, "A").virsh(check, "cpu-compare", "--error", xml, stderr=True)
    check.want(status and "incompatible with host CPU" in said, "virsh cpu-compare does not refuse it")


def _silent(check: Check, site: Site) -> None:
    a = _start(check, site, domains.small(["-no-user-config"]), BARE)
    text = "<feature policy='disable' name='lwp'/>"
    check.want(text in a.do(check, "dumpxml", "small"), f"the running domain does not say {text}")
    site.destroy(check)


def _switched_off(check: Check, site: Site) -> None:
    """libvirt drops the policy 'disable' of what its host model does not name."""
    offers = site.capabilities(check, "A")
    domain = domains.small(ENFORCE, features={"lwp-ptsc": "disable"})
    c = _start(check, site, domain, State(hook=False), "C")
    site.small.has(check, c, "lwp-ptsc", True)
    argv: list[proc.Word] = [LWPCTL, "check", site.small.write(domains.text_of(domain)), offers]
    status, said = check.text(argv, stderr=True)
    check.want(status == 0, f"lwpctl check ends with status {status}")
    check.want("libvirt drops policy='disable'" in said, "lwpctl check does not say it")


ROWS: tuple[Row, ...] = (
    one("trap/other-numbers", "trap: other numbers on the way are refused by QEMU", _other_numbers),
    one("trap/require", "trap: policy='require' is refused by libvirt", _fails_to_start, State(),
        domains.small(ENFORCE, lwp="require"), "Host CPU does not provide required features: lwp"),
    one("trap/no-property", "trap: a property that is not there ends in one line of the hook", _fails_to_start, State(),
        domains.small(["-global", "x86_64-cpu.lwp-frob=1"]), "there is no property"),
    one("trap/check-full", "trap: check='full' by hand is refused by libvirt", _fails_to_start, State(),
        domains.small(ENFORCE, check="full"),
        "guest CPU doesn't match specification: extra features: hypervisor,lahf_lm"),
    one("trap/override", "trap: <qemu:override> changes nothing of a CPU, without a word", _overridden),
    one("trap/second-cpu", "trap: a second -cpu replaces libvirt's", _two_cpus),
    one("trap/baselines", "trap: cpu-baseline knows no emulator, hypervisor-cpu-baseline no LWP", _baselines),
    one("trap/cpu-compare", "trap: cpu-compare looks at the processor of this machine", _compare),
    one("trap/not-enforced", "trap: without enforce=on a host without LWP starts the domain without LWP", _silent),
    one("trap/enforced", "trap: with enforce=on it does not", _fails_to_start, BARE, domains.small(ENFORCE),
        "TCG doesn't support requested features"),
    one("trap/disable", "trap: policy='disable' of a bit is dropped by libvirt, and lwpctl says so", _switched_off),
)
