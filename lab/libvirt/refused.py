# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused by QEMU: the small domain leaves its LWP open, and the destination's is another one."""

from dataclasses import dataclass

from lab.common.report import Check, tail
from lab.libvirt.hosts import State
from lab.libvirt.site import Row, Site, one

P2P = ("--p2p",)


@dataclass(frozen=True)
class Refused:
    """Settings of lwp on the source and on the destination, and what virsh and the destination's QEMU say."""

    name: str
    sentence: str
    source: tuple[str, ...]
    destination: tuple[str, ...]
    text: str
    options: tuple[str, ...] = P2P
    or_else: str = ""  # what the virsh of a newer libvirt may say instead; the destination's log has the text, too


FEWER = "LWP: source offers 6 events, this host 3: start both with lwp-max-events=3"
FAILED = "job 'migration in' failed: load of migration failed"
BITS = ("ire", "bre", "cnh", "rnh", "cont", "ptsc", "int")
SILICON = ("lwp-max-events=3", "lwp-cont=off", "lwp-ptsc=off", "lwp-int=off")
LATENCIES = "LWP: source offers latencies of 20 bits, this host 12: start both with lwp-latency-max=12"

TABLE = (
    Refused("fewer-events", "fewer events", (), ("lwp-max-events=3",), FEWER),
    Refused("missing-bit", "a missing bit", (), ("lwp-val=off",),
            "LWP: source offers LWPVAL records, this host does not: start both with lwp-val=off"),
    *(Refused(f"without-{bit}", f"without lwp-{bit}", (), (f"lwp-{bit}=off",), f"start both with lwp-{bit}=off")
      for bit in BITS),
    Refused("smaller-latency", "smaller latency", ("lwp-latency-max=20",), ("lwp-latency-max=12",), LATENCIES),
    Refused("larger-ring", "larger smallest ring", (), ("lwp-min-buffer=4",), "start both with lwp-min-buffer=4"),
    Refused("another-revision", "another revision", (), ("lwp-rev=2007",),
            "LWP: source has lwp-rev=43724, this host 2007: start both with the same"),
    Refused("other-contexts", "other contexts", ("lwp-context=auto",), ("lwp-context=os",),
            "LWP: source has lwp-context=auto, this host os: start both with the same"),
    Refused("another-delivery", "another delivery", (), ("lwp-delivery=prompt",),
            "LWP: source has lwp-delivery=exact, this host prompt: start both with the same"),
    Refused("another-profile", "another profile", ("lwp-profile=fam15h",), SILICON, "start both with"),
    Refused("fewer-events-by-virsh", "fewer events, without --p2p", (), ("lwp-max-events=3",), FEWER, (), FAILED),
)


def _by_qemu(check: Check, site: Site, row: Refused) -> None:
    a = site.host(check, "A", State(lwp=row.source))
    b = site.host(check, "B", State(lwp=row.destination))
    site.up(check, a)
    log = b.qemu_log("small")
    log.unlink(missing_ok=True)
    site.small.stays(check, a, b, row.text, options=row.options, or_else=row.or_else)
    check.want(any(row.text in line for line in tail(log)), f"the destination's log does not say '{row.text}'")


def _without_hook(check: Check, site: Site, text: str, *properties: str) -> None:
    """The destination has neither the hook nor LWP."""
    a, b = site.host(check, "A"), site.host(check, "B", State(patched=False, hook=False))
    site.up(check, a, properties)
    site.small.stays(check, a, b, text)


ROWS: tuple[Row, ...] = (
    *(one(f"refused/{row.name}", f"refused: {row.sentence}", _by_qemu, row) for row in TABLE),
    one("refused/unpatched", "refused: an unpatched destination", _without_hook,
        "TCG doesn't support requested feature: CPUID.80000001H:ECX.lwp"),
    one("refused/unpatched-number", "refused: an unpatched destination, of a domain that says a number", _without_hook,
        "lwp-max-events' not found", "lwp-max-events=3"),
)
