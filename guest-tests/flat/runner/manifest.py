#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite without the lab: which rows another hypervisor or a real machine can run, and what CPUID must say for
each. It follows from the row's processor (table.py).

manifest.py rows prints the file of rows that the kernel takes (kernel/suite.h); manifest.py json the same for programs
and people, and the rows that only the lab runs."""

import json
import sys
from typing import NamedTuple

from table import ROWS, Row

MEMORY = 64  # MiB


class Need(NamedTuple):
    """CPUID has a number from `least` to `most` in the bits of `mask`."""

    name: str
    leaf: int
    subleaf: int
    register: str
    mask: int
    least: int
    most: int
    text: str


def _bits(name: str, leaf: int, register: str, mask: int, text: str) -> Need:
    return Need(name, leaf, 0, register, mask, mask, mask, text)


# Capabilities, not vlwp's numbers: the tests read sizes, places and filters from the leaf.
NEEDS = {
    need.name: need
    for need in (
        Need("no-lwp", 0x80000001, 0, "ecx", 0x8000, 0, 0, "LWP is absent"),
        _bits("lwp", 0x80000001, "ecx", 0x8000, "LWP"),
        # The offset of the events is a multiple of 8; a leaf of 2007 has its version there, 1.
        Need("rev-43724", 0x8000001c, 0, "ebx", 0x0700ff00, 0x2000, 0x2000, "a leaf of 43724, records of 32 bytes"),
        Need("version-1", 0x8000001c, 0, "ecx", 0xfe00, 0x200, 0x200, "version 1 of 43724"),
        Need("small-ring", 0x8000001c, 0, "ecx", 0xff0000, 0, 0x100000, "rings of 512 records, or of fewer"),
        Need("smallest-ring", 0x8000001c, 0, "ecx", 0xff0000, 0, 0x10000, "rings of 32 records"),
        Need("rev-2007", 0x8000001c, 0, "ebx", 0xff00ff00, 0x01002000, 0x01002000, "a leaf of 2007, version 1"),
        Need("3-slots", 0x8000001c, 0, "ebx", 0xff0000, 0x30000, 0xff0000, "three event slots or more"),
        Need("1-slot", 0x8000001c, 0, "ebx", 0xff0000, 0x10000, 0x10000, "one event slot"),
        *(_bits(f"event-{n}", 0x8000001c, "edx", 1 << n, f"EventId {n}") for n in range(1, 7)),
        _bits("time-stamp", 0x8000001c, "edx", 1 << 30, "time stamps"),
        _bits("interrupt", 0x8000001c, "edx", 1 << 31, "the threshold interrupt"),
        _bits("xsave", 0xd, "edx", 0x40000000, "LWP is component 62 of XSAVE"),
        Need("no-xsave", 0xd, 0, "edx", 0x40000000, 0, 0, "the hypervisor switches the state of LWP"),
        _bits("vmcb", 0x8000001c, "ecx", 0x01000000, "LWP is in the VMCB"),
        _bits("svm", 0x80000001, "ecx", 0x4, "SVM"),
        _bits("npt", 0x8000000a, "edx", 0x1, "nested paging"),
        _bits("vls", 0x8000000a, "edx", 0x8000, "virtual VMLOAD and VMSAVE"),
        _bits("perfctr-core", 0x80000001, "ecx", 0x00800000, "6 core counters"),
        _bits("perfmon-v2", 0x80000022, "eax", 0x1, "PerfMonV2"),
        _bits("irperf", 0x80000008, "ebx", 0x2, "the counter of retired instructions"),
        _bits("lbr", 0x80000022, "eax", 0x2, "last branch records, version 2"),
        _bits("lbr-freeze", 0x80000022, "eax", 0x4, "they freeze with the counters' interrupts"),
        _bits("lbrv", 0x8000000a, "edx", 0x2, "LBR virtualization"),
        _bits("ibs", 0x80000001, "ecx", 0x400, "instruction-based sampling"),
        _bits("monitor", 1, "ecx", 0x8, "MONITOR and MWAIT"),
        _bits("la57", 7, "ecx", 0x10000, "five-level paging"),
    )
}
# What a property of QEMU's CPU means for CPUID; of LWP's leaf a row says itself what it asks for.
MEANS = {
    "lwp-context=os": "xsave", "lwp-vmcb=on": "vmcb", "+svm": "svm", "+npt": "npt", "+v-vmsave-vmload": "vls",
    "+perfctr-core": "perfctr-core", "+perfmon-v2": "perfmon-v2", "+irperf": "irperf", "+amd-lbr-v2": "lbr",
    "+amd-lbr-pmc-freeze": "lbr-freeze", "+lbrv": "lbrv", "+ibs": "ibs", "+monitor": "monitor", "+la57": "la57",
}
REVISIONS = {False: ("lwp", "rev-43724", "version-1", "small-ring"), True: ("lwp", "rev-2007")}


def needs(row: Row) -> list[Need]:
    """What a row of the suite asks of CPUID."""
    has = row.cpu.split(",")
    names = ["no-lwp"] if row.absence else []
    names += REVISIONS["lwp-rev=2007" in has] + tuple(row.asks.split()) if "+lwp" in has else ()
    names += [need for prop, need in MEANS.items() if prop in has]
    names += ["no-xsave"] if row.hidden else []
    return [NEEDS[name] for name in names]


def rows_text() -> str:
    """The file that the kernel takes."""
    lines = [
        f"need {n.name} {n.leaf:x} {n.subleaf:x} {n.register} {n.mask:x} {n.least:x} {n.most:x}" for n in NEEDS.values()
    ]
    for row in ROWS:
        if not row.lab:
            lines.append(f"row {row.name} {','.join(need.name for need in needs(row)) or '-'} {row.words()}")
    return "\n".join([*lines, ""])


def _json(need: Need) -> dict[str, object]:
    numbers = {key: f"{getattr(need, key):#010x}" for key in ("leaf", "mask", "least", "most")}
    return {**need._asdict(), **numbers}


def json_text() -> str:
    """For programs and people."""
    rows = [
        {"row": row.name, "words": row.words(), "processors": row.cpus, "cpuid": [_json(need) for need in needs(row)]}
        for row in ROWS if not row.lab
    ]
    lab = {row.name: row.lab for row in ROWS if row.lab}
    return json.dumps({"memory-MiB": MEMORY, "rows": rows, "lab-only": lab}, indent=1) + "\n"


if __name__ == "__main__":
    FORMS = {"rows": rows_text, "json": json_text}
    if len(sys.argv) != 2 or sys.argv[1] not in FORMS:
        print("usage: manifest.py rows|json", file=sys.stderr)
        sys.exit(2)
    print(FORMS[sys.argv[1]](), end="")
