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
    """CPUID has `value` in the bits of `mask`."""

    name: str
    leaf: int
    subleaf: int
    register: str
    mask: int
    value: int
    text: str


# Literal numbers: tests/leaf.c has what CPUID says of each processor of the table.
NEEDS = {
    need[0]: Need(*need)
    for need in (
        ("no-lwp", 0x80000001, 0, "ecx", 0x8000, 0, "LWP is absent"),
        ("lwp", 0x80000001, 0, "ecx", 0x8000, 0x8000, "LWP"),
        ("lwp-43724", 0x8000001c, 0, "ebx", 0xff00ff00, 0x80002000,
         "the control block of 43724: events from byte 128, records of 32 bytes"),
        ("lwp-2007", 0x8000001c, 0, "ebx", 0xffffffff, 0x01032040, "the control block of 2007, with 3 slots"),
        ("one-slot", 0x8000001c, 0, "ebx", 0xffffffff, 0x01012030, "the control block of 2007, with one slot"),
        ("all-events", 0x8000001c, 0, "ebx", 0x00ff00ff, 0x00060016, "EventIds up to 6"),
        ("all-features", 0x8000001c, 0, "edx", 0xe000000f, 0xe000000f,
         "LWPVAL, instructions, branches, continuous mode, time stamp, interrupt"),
        ("all-filters", 0x8000001c, 0, "ecx", 0x20fffe00, 0x20010200,
         "IP filter, rings of 32 records and more, version 1"),
        ("fam15h-events", 0x8000001c, 0, "ebx", 0x00ff00ff, 0x00030013, "EventIds up to 3"),
        ("fam15h-features", 0x8000001c, 0, "edx", 0xe000007f, 0x8000000f,
         "LWPVAL, instructions, branches, interrupt, and nothing else"),
        ("fam15h-filters", 0x8000001c, 0, "ecx", 0xfffffe00, 0x00010200, "no filter, version 1"),
        ("two-events", 0x8000001c, 0, "ebx", 0x00ff00ff, 0x00020012, "EventIds up to 2"),
        ("min-ring-4", 0x8000001c, 0, "ecx", 0x20fffe00, 0x20040200,
         "IP filter, rings of 128 records and more, version 1"),
        ("clocks", 0x8000001c, 0, "edx", 0x60, 0x60, "clock events"),
        ("xsave", 0xd, 0, "edx", 0x40000000, 0x40000000, "LWP is component 62 of XSAVE"),
        ("no-xsave", 0xd, 0, "edx", 0x40000000, 0, "the hypervisor switches the state of LWP"),
        ("vmcb", 0x8000001c, 0, "ecx", 0x01000000, 0x01000000, "LWP is in the VMCB"),
        ("svm", 0x80000001, 0, "ecx", 0x4, 0x4, "SVM"),
        ("npt", 0x8000000a, 0, "edx", 0x1, 0x1, "nested paging"),
        ("vls", 0x8000000a, 0, "edx", 0x8000, 0x8000, "virtual VMLOAD and VMSAVE"),
        ("perfctr-core", 0x80000001, 0, "ecx", 0x00800000, 0x00800000, "6 core counters"),
        ("perfmon-v2", 0x80000022, 0, "eax", 0x1, 0x1, "PerfMonV2"),
        ("irperf", 0x80000008, 0, "ebx", 0x2, 0x2, "the counter of retired instructions"),
        ("lbr", 0x80000022, 0, "eax", 0x2, 0x2, "last branch records, version 2"),
        ("lbr-freeze", 0x80000022, 0, "eax", 0x4, 0x4, "they freeze with the counters' interrupts"),
        ("lbrv", 0x8000000a, 0, "edx", 0x2, 0x2, "LBR virtualization"),
        ("ibs", 0x80000001, 0, "ecx", 0x400, 0x400, "instruction-based sampling"),
        ("monitor", 1, 0, "ecx", 0x8, 0x8, "MONITOR and MWAIT"),
        ("la57", 7, 0, "ecx", 0x10000, 0x10000, "five-level paging"),
    )
}
# What a property of QEMU's CPU means for CPUID; those of LWP's leaf are in _leaf().
MEANS = {
    "+lwp": "lwp", "lwp-context=os": "xsave", "lwp-vmcb=on": "vmcb", "+svm": "svm", "+npt": "npt",
    "+v-vmsave-vmload": "vls", "+perfctr-core": "perfctr-core", "+perfmon-v2": "perfmon-v2", "+irperf": "irperf",
    "+amd-lbr-v2": "lbr", "+amd-lbr-pmc-freeze": "lbr-freeze", "+lbrv": "lbrv", "+ibs": "ibs", "+monitor": "monitor",
    "+la57": "la57",
}


def _leaf(has: list[str]) -> list[str]:
    """What the leaf says of LWP with these properties."""
    if "lwp-rev=2007" in has:
        return ["one-slot" if "lwp-max-events=1" in has else "lwp-2007"]
    if "lwp-profile=fam15h" in has:
        return ["lwp-43724", "fam15h-events", "fam15h-features", "fam15h-filters"]
    events = ["two-events"] if "lwp-max-events=2" in has else ["all-events", "all-features"]
    return ["lwp-43724", *events, "min-ring-4" if "lwp-min-buffer=4" in has else "all-filters"]


def needs(row: Row) -> list[Need]:
    """What a row of the suite asks of CPUID."""
    has = row.cpu.split(",")
    names = ["no-lwp"] if row.absence else []
    names += [need for prop, need in MEANS.items() if prop in has]
    names += _leaf(has) if "+lwp" in has else []
    names += ["no-xsave"] if row.hidden else []
    names += ["clocks"] if row.needs == "clocks" else []
    return [NEEDS[name] for name in names]


def rows_text() -> str:
    """The file that the kernel takes."""
    lines = [
        f"need {n.name} {n.leaf:x} {n.subleaf:x} {n.register} {n.mask:x} {n.value:x}" for n in NEEDS.values()
    ]
    for row in ROWS:
        if not row.lab:
            lines.append(f"row {row.name} {','.join(need.name for need in needs(row)) or '-'} {row.words()}")
    return "\n".join([*lines, ""])


def _json(need: Need) -> dict[str, object]:
    numbers = {key: f"{getattr(need, key):#010x}" for key in ("leaf", "mask", "value")}
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
