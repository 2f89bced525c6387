# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl and QEMU say of a host whose KVM has LWP, of one whose KVM has none, and of one without KVM."""

from dataclasses import replace
from difflib import ndiff
from pathlib import Path

from lab.common import places
from lab.common.report import Check
from lab.nested import l1
from lab.nested.l1 import L1

# What kvm_test_abi wants the leaf to be. EBX 80062016h: a block of 16h quadwords, events of 32 bytes, 6 of them, from
# 80h. ECX 20010200h: version 1, rings of 32 records, IP filter. EDX E000000Fh: bits 1 to 3, 29 to 31.
ANNOUNCED = """\
revision 43724
contexts auto, os
delivery exact
lwp-val yes (LWPVAL records)
lwp-ire yes (instruction records)
lwp-bre yes (branch records)
lwp-dme no (data cache miss records)
lwp-cnh no (core clock records)
lwp-rnh no (reference clock records)
lwp-cont yes (continuous mode)
lwp-ptsc yes (time stamps in records)
lwp-int yes (threshold interrupts)
lwp-vmcb yes
lwp-max-events 6
lwp-min-buffer 1 (32 records)
latency 0 bits
control block 176 bytes, events at 128
filters ip-filtering""".splitlines()

CAPS = """
"$1" caps >"$VLWP_SHARE/kvm"
"$1" caps --qemu="$2" --accel=kvm >"$VLWP_SHARE/qemu"
"""

CAPS_WITHOUT = """
"$1" caps
"$1" caps --qemu="$2" --accel=kvm
rm /dev/kvm
status=0
"$1" caps || status=$?
echo "status $status"
"""

NO_FEATURE = "doesn't support requested feature"  # QEMU's line for each bit that KVM does not offer


def _output(check: Check, name: str, lab: L1, command: list[str]) -> tuple[int, list[str]]:
    """Run a command in L1. Result: its exit status and the lines that it and its errors are."""
    place = check.work / name
    status = l1.boot_logged(lab, place, command)
    text = (place / "log").read_text(encoding="utf-8", errors="replace")
    check.say(f"{text}[status {status}]")
    return status, text.splitlines()


def _script(text: str) -> list[str]:
    return ["/bin/sh", "-euc", text, "-", str(places.LWPCTL), str(places.qemu())]


def _emulator(cpu: str = "EPYC,+lwp") -> list[str]:
    """QEMU with LWP and nothing else."""
    machine = ["-accel", "kvm", "-machine", "q35", "-cpu", cpu, "-nodefaults", "-display", "none"]
    return [str(places.qemu()), *machine, "-L", str(places.FIRMWARE)]


def refused(check: Check, lab: L1) -> None:
    """With the kernel's own modules "+lwp" is refused, in one line."""
    status, lines = _output(check, "stock", replace(lab, stock=True), _emulator())
    lines = [line for line in lines if NO_FEATURE not in line]
    check.want(status, "QEMU starts")
    check.want(len(lines) == 1 and "KVM on this host has no LWP" in lines[0], "the refusal is not the one line")


def refused_misses(check: Check, lab: L1) -> None:
    """Data cache misses are refused where KVM has LWP, in one line."""
    status, lines = _output(check, "misses", lab, _emulator("EPYC,+lwp,lwp-dme=on"))
    lines = [line for line in lines if NO_FEATURE not in line]
    check.want(status, "QEMU starts")
    says = "lwp-dme=on: KVM on this host has no data cache miss records"
    check.want(len(lines) == 1 and says in lines[0], "the refusal is not the one line")


def same_caps(check: Check, lab: L1) -> None:
    """What lwpctl says of this host, by /dev/kvm and by QEMU with KVM: the same, and what KVM announces."""
    status, _ = _output(check, "lwpctl", lab, _script(CAPS))
    share = check.work / "lwpctl/share"
    check.want(status == 0, "lwpctl fails")
    kvm, qemu = _caps(check, share / "kvm"), _caps(check, share / "qemu")
    check.want(kvm == qemu, "it does not say the same of both")
    check.want(ANNOUNCED[0] in kvm, f"no line '{ANNOUNCED[0]}'")
    begin = kvm.index(ANNOUNCED[0])
    said = kvm[begin:begin + len(ANNOUNCED)]
    check.want(said == ANNOUNCED, "it is not what KVM announces:\n" + "\n".join(ndiff(ANNOUNCED, said)))


def _caps(check: Check, path: Path) -> list[str]:
    """The lines but the first, which names the source, with single spaces."""
    text = path.read_text(encoding="utf-8")
    check.say(f"{path.name}:\n{text}")
    return [" ".join(line.split()) for line in text.splitlines()[1:]]


def without_lwp(check: Check, lab: L1) -> None:
    """A line each, and exit status 0 for a KVM without LWP, which is no failure, and 1 for no KVM."""
    _, lines = _output(check, "lwpctl-stock", replace(lab, stock=True), _script(CAPS_WITHOUT))
    check.want(len(lines) == 6, "these are not six lines")
    check.want(lines[1] == "no LWP: this KVM has no LWP", "the second is not that this KVM has no LWP")
    by_qemu = lines[3].startswith("no LWP: ") and "KVM on this host has no LWP" in lines[3]
    check.want(by_qemu, "the fourth is not that KVM on this host has no LWP")
    check.want(lines[4].startswith("lwpctl: /dev/kvm: No such file or directory; "), "the fifth is not about /dev/kvm")
    check.want(lines[5] == "status 1", "the last is not the exit status 1")


def prompt_delivery(check: Check, lab: L1) -> None:
    """What QEMU takes when its user does not say: as the records shall be, "prompt" where KVM has counters."""
    share = check.work / "delivery/share"
    share.mkdir(parents=True, exist_ok=True)
    question = '"arguments": {"path": "/machine/unattached/device[0]", "property": "lwp-delivery"}'
    asked = ['{"execute": "qmp_capabilities"}', f'{{"execute": "qom-get", {question}}}', '{"execute": "quit"}', ""]
    (share / "ask").write_text("\n".join(asked), encoding="utf-8")
    script = ["/bin/sh", "-c", 'exec "$@" <"$VLWP_SHARE/ask"', "-", *_emulator(), "-S", "-qmp", "stdio"]
    _, lines = _output(check, "delivery", replace(lab, cpu="EPYC,pmu=on", kvm_amd="lwp_source=perf"), script)
    check.want(any('"return": "prompt"' in line for line in lines), "it is not prompt")
