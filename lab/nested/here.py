# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test kvm --here in L1, which is that machine: the report, and the refusal where KVM has no LWP."""

import re

from lab.common.places import TOP
from lab.common.report import Check
from lab.nested import l1
from lab.nested.l1 import L1

MACHINE = L1(memory=2048, cpu="EPYC,pmu=on,pmu-skid=zen3", kvm_amd="lwp_source=perf", limit=1500)
# Of the programs one that runs, one for another source, and one that measures.
NAMES = ("lateness", "test_insn", "test_source")
REPORT = (
    r"---- LWP under KVM on this machine ----",
    r"model name +AMD EPYC.*",
    r"kvm_amd +lwp=Y .*lwp_source=perf.*",
    r".*counters are treated as those of: Zen",
    r"    kvm_lateness +\d+ passed, 0 failed",
    r"        lateness of \d+ interrupts: median \d+, 99% \d+, most \d+ instructions",
    r"        exact: \d+ of 50 records late, \d+ overshoots, \d+ steps a record",
    r"    kvm_test_insn +\d+ passed, 0 failed",
    r"    kvm_test_source +skipped: needs kvm_amd loaded with lwp_source=fake",
    r"---- end ----",
)


def _output(check: Check, name: str, lab: L1) -> tuple[int, list[str]]:
    place = check.work / name
    status = l1.boot_logged(lab, place, [TOP / "vlwp", "test", "kvm", "--here", *NAMES])
    lines = (place / "log").read_text(encoding="utf-8", errors="replace").splitlines()
    check.say("\n".join(lines))
    return status, lines


def report(check: Check) -> None:
    """The report has the machine, what was measured, and each test; in this order."""
    status, lines = _output(check, "here", MACHINE)
    check.want(status == 0, f"it ends with status {status}")
    rest = iter(lines)
    for pattern in REPORT:
        check.want(any(re.fullmatch(pattern, line) for line in rest), f"no line {pattern}, or not in this place")


def refused(check: Check) -> None:
    """The kernel's own modules: one line that says what to install."""
    status, lines = _output(check, "here-stock", L1(stock=True, memory=2048, limit=1500))
    said = [line for line in lines if "this machine's kvm_amd has no LWP: './vlwp install kvm'" in line]
    check.want(status == 1 and len(said) == 1, f"it ends with status {status} and {len(said)} lines")
