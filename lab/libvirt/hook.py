# SPDX-License-Identifier: GPL-2.0-or-later
"""Refused by the hook: the small domain says its LWP, and the destination does not offer it; what the destination
offers is found out, or said by an administrator in /etc/libvirt/lwp-host.json."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.common.report import Check
from lab.libvirt.hosts import UNPATCHED, State
from lab.libvirt.site import REDUCED, Row, Site, one

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
RECORDS = {
    "val": "LWPVAL",
    "ire": "instruction",
    "bre": "branch",
    "cnh": "core clock",
    "rnh": "reference clock",
}
# A domain that says each field of the leaf.
FIELDS = (
    *("lwp-max-events=6", "lwp-min-buffer=1", "lwp-cont=on", "lwp-ptsc=on", "lwp-int=on"),
    *(f"lwp-{bit}=on" for bit in RECORDS),
)


def modest(changes: Mapping[str, object] | None = None, without: Sequence[str] = ()) -> dict[str, Any]:
    """What an administrator says, with other values, and without these features."""
    offers = copy.deepcopy(dict(MODEST))
    revision = offers["revisions"]["43724"]
    revision.update(changes or {})
    revision["features"] = [name for name in revision["features"] if name not in without]
    return offers


@dataclass(frozen=True)
class Lacks:
    """A field that the domain says, what the administrator's file lacks of it, and what the hook says."""

    name: str
    sentence: str
    says: str
    text: str
    changes: Mapping[str, object] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    domain: tuple[str, ...] = FIELDS


def _bit(bit: str, name: str, sentence: str, text: str) -> Lacks:
    said = f"lwp-{bit}: the guest needs {text}, the host has none"
    return Lacks(name, sentence, f"lwp-{bit}=on", said, without=(f"lwp-{bit}",))


FEW = {"max_events": 3, "block_size": 152}
OS = {"contexts": ["os"]}
TABLE = (
    Lacks("file-fewer-events", "fewer events in the file", "lwp-max-events=6",
          "lwp-max-events: the guest needs 6, the host offers 3", FEW, ("lwp-cnh", "lwp-rnh")),
    Lacks("file-larger-ring", "larger smallest ring in the file", "lwp-min-buffer=1",
          "lwp-min-buffer: the guest needs 1, the host's smallest is 2", {"min_buffer": 2}),
    *(_bit(bit, f"file-{bit}", f"no {text} records", f"{text} records") for bit, text in RECORDS.items()),
    _bit("cont", "file-cont", "no continuous mode", "continuous mode"),
    _bit("ptsc", "file-ptsc", "no time stamps", "time stamps in records"),
    _bit("int", "file-int", "no threshold interrupts", "threshold interrupts"),
)
OTHERS = (
    Lacks("file-no-auto", "no automatic contexts", "lwp-context=auto", "lwp-context: the guest needs 'auto', which", OS,
          domain=("lwp-context=auto",)),
    Lacks("file-no-vmcb", "no LWP in VMCBs", "lwp-vmcb=on", "lwp-vmcb: the host does not offer it", OS,
          domain=("lwp-context=os", "lwp-vmcb=on")),
    Lacks("file-silicon", "numbers of the silicon that are not there", "lwp-profile=fam15h",
          "lwp-profile=fam15h: the host lacks what it needs of", without=("lwp-ire",), domain=("lwp-profile=fam15h",)),
)


def _refuses(check: Check, site: Site, properties: Sequence[str], state: State, text: str) -> None:
    """The domain says the properties; B is like this, and its hook says the text."""
    a = site.host(check, "A")
    site.up(check, a, properties)
    site.small.stays(check, a, site.host(check, "B", state), REFUSING + text)


def _file_lacks(check: Check, site: Site, row: Lacks) -> None:
    a = site.host(check, "A")
    site.up(check, a, row.domain)
    live = a.do(check, "dumpxml", "small")
    check.want(f"x86_64-cpu.{row.says}'" in live, f"the domain does not say {row.says}")
    offers = modest(row.changes, row.without)
    check.want(offers != MODEST, "the file lacks nothing")
    site.small.stays(check, a, site.host(check, "B", State(offers=offers)), REFUSING + row.text)


def _file_counts(check: Check, site: Site) -> None:
    """B offers everything; its file says less."""
    offers = site.capabilities(check, "B", REDUCED).read_text(encoding="utf-8")
    text = "lwp-max-events: the guest needs 6, the host offers 3"
    _refuses(check, site, ("lwp-max-events=6",), State(offers=offers), text)


def _starts(check: Check, site: Site) -> None:
    site.up(check, site.host(check, "A"), FIELDS)


def _goes(check: Check, site: Site, properties: Sequence[str], state: State) -> None:
    a = site.host(check, "A")
    site.up(check, a, properties)
    site.small.goes(check, a, site.host(check, "B", state))


def _damaged(check: Check, site: Site) -> None:
    a = site.host(check, "A")
    site.up(check, a)
    text = "lwp: /etc/libvirt/lwp-host.json: line 2: expected more JSON, the file ends"
    site.small.stays(check, a, site.host(check, "B", State(offers="{\n")), text)


@dataclass(frozen=True)
class Needs:
    """What the domain says, a host B that does not offer it, and what the hook says."""

    name: str
    sentence: str
    says: tuple[str, ...]
    state: State
    text: str


FOUND_OUT = (
    Needs("fewer-events", "fewer events", ("lwp-max-events=6",), State(lwp=("lwp-max-events=3",)),
          "lwp-max-events: the guest needs 6, the host offers 3"),
    Needs("missing-bit", "a missing bit", ("lwp-cnh=on",), State(lwp=("lwp-cnh=off",)),
          "lwp-cnh: the guest needs core clock records, the host has none"),
    Needs("larger-ring", "larger smallest ring", ("lwp-min-buffer=1",), State(lwp=("lwp-min-buffer=8",)),
          "lwp-min-buffer: the guest needs 1, the host's smallest is 8"),
    Needs("unpatched", "an unpatched destination", (), UNPATCHED, "lwp: the guest needs it, the host has none"),
)
SAID = State(offers=modest())
IN_FILE = (
    Needs("file-another-revision", "another revision", ("lwp-rev=2007",), SAID,
          "lwp-rev: the guest needs 2007, which the host does not offer"),
    Needs("file-contexts-of-system", "contexts of the guest's system", ("lwp-context=os",), SAID,
          "lwp-context: the guest needs 'os', which the host does not offer"),
    Needs("file-another-delivery", "another delivery", ("lwp-delivery=prompt",), SAID,
          "lwp-delivery: the guest needs 'prompt', which the host does not offer"),
)


def _needs(row: Needs) -> Row:
    return one(f"hook/{row.name}", f"the hook: {row.sentence}", _refuses, row.says, row.state, row.text)


def _lacks(row: Lacks) -> Row:
    return one(f"hook/{row.name}", f"the hook: {row.sentence}", _file_lacks, row)


ROWS: tuple[Row, ...] = (
    *(_needs(row) for row in FOUND_OUT),
    one("hook/file-counts", "the hook: what /etc/libvirt/lwp-host.json says counts", _file_counts),
    one("hook/all-fields", "the hook: a domain that says all fields is started", _starts),
    one("hook/file-suffices", "the hook: what an administrator says of B suffices", _goes, FIELDS, SAID),
    *(_lacks(row) for row in TABLE),
    *(_needs(row) for row in IN_FILE),
    *(_lacks(row) for row in OTHERS),
    one("hook/file-damaged", "the hook: a damaged /etc/libvirt/lwp-host.json refuses, and says so", _damaged),
    one("hook/fits", "the hook: what fits goes, and comes back", _goes, ("lwp-max-events=6",), State()),
)
