# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl, QEMU and the suite that stands alone say of a host whose KVM has LWP, of one whose KVM has none, and of
one without KVM."""

import re
from dataclasses import replace
from difflib import ndiff
from pathlib import Path

import pytest

from lab.common import places, proc
from lab.nested.l1 import L1
from lab.start import install_conformance
from lab.tests.conftest import machine
from lab.tests.flat import test_conformance as suite
from lab.tests.kvm.conftest import InL1

LAB = L1(smp=2, limit=1500)
STOCK = replace(LAB, stock=True)
SAMPLING = replace(LAB, cpu="EPYC,pmu=on,ibs=on")
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
# Where counters and IBS count for KVM: ECX E0010230h, EDX E000003Fh.
WITH_IBS = {
    "delivery exact": "delivery exact, prompt",
    "lwp-dme no (data cache miss records)": "lwp-dme yes (data cache miss records)",
    "lwp-cnh no (core clock records)": "lwp-cnh yes (core clock records)",
    "latency 0 bits": "latency 16 bits",
    "filters ip-filtering": "filters data-address ip-filtering cache-levels cache-latency",
}

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
mknod /dev/kvm c 10 232
"""

NO_FEATURE = "doesn't support requested feature"  # QEMU's line for each bit that KVM does not offer


def script(text: str) -> list[str]:
    """For a shell."""
    return ["/bin/sh", "-euc", text, "-", str(places.LWPCTL), str(places.qemu())]


def refuses(in_l1: InL1, lab: L1, command: list[str], says: str) -> None:
    """QEMU does not start, and says why in one line."""
    done = in_l1(lab, ["timeout", "300", *command])
    lines = [line for line in done.said.splitlines() if NO_FEATURE not in line]
    assert done.status and len(lines) == 1 and says in lines[0]


def test_refused_stock(in_l1: InL1) -> None:
    """+lwp on a host without it fails with one line."""
    refuses(in_l1, STOCK, machine("EPYC,+lwp", accel="kvm"), "KVM on this host has no LWP")


def test_refused_misses(in_l1: InL1) -> None:
    """lwp-dme=on fails with one line under a KVM that cannot sample, and a model of the caches under one that can."""
    says = "lwp-dme=on: KVM on this host samples no data cache misses; use a processor that has instruction-based"
    refuses(in_l1, LAB, machine("EPYC,+lwp,lwp-dme=on", accel="kvm"), says)
    caches = machine("EPYC,+lwp,lwp-dme=on,lwp-cache-l2=none", accel="kvm")
    refuses(in_l1, SAMPLING, caches, "lwp-cache-*: TCG alone models the caches")


def caps(path: Path) -> list[str]:
    """The lines but the first, which names the source, with single spaces."""
    return [" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines()[1:]]


@pytest.mark.parametrize("lab, other", [pytest.param(LAB, {}, id="steps"), pytest.param(SAMPLING, WITH_IBS, id="ibs")])
def test_lwpctl_caps(in_l1: InL1, lab: L1, other: dict[str, str]) -> None:
    """lwpctl says the same of /dev/kvm and of QEMU with KVM, and it is what KVM announces to those who ask for all."""
    done = in_l1(lab, script(CAPS))
    assert done.status == 0
    kvm = caps(done.share / "kvm")
    assert kvm == caps(done.share / "qemu") and ANNOUNCED[0] in kvm
    begin = kvm.index(ANNOUNCED[0])
    announced = [other.get(line, line) for line in ANNOUNCED]
    said = kvm[begin:begin + len(announced)]
    assert said == announced, "\n".join(ndiff(announced, said))


def test_lwpctl_without(in_l1: InL1) -> None:
    """lwpctl on a host without LWP, and on one without KVM, says so in one line.

    Exit status 0 for a KVM without LWP, which is no failure, and 1 for no KVM."""
    lines = in_l1(STOCK, script(CAPS_WITHOUT)).said.splitlines()
    assert len(lines) == 6 and lines[1] == "no LWP: this KVM has no LWP"
    assert lines[3].startswith("no LWP: ") and "KVM on this host has no LWP" in lines[3]
    assert lines[4].startswith("lwpctl: /dev/kvm: No such file or directory; ") and lines[5] == "status 1"


def test_delivery(in_l1: InL1) -> None:
    """QEMU delivers promptly where KVM has counters and its user does not say how."""
    question = '"arguments": {"path": "/machine/unattached/device[0]", "property": "lwp-delivery"}'
    asked = ['{"execute": "qmp_capabilities"}', f'{{"execute": "qom-get", {question}}}', '{"execute": "quit"}', ""]
    emulator = machine("EPYC,+lwp", "-S", "-qmp", "stdio", accel="kvm")
    command = f"printf %s {proc.quoted([chr(10).join(asked)])} | {proc.quoted(emulator)}"
    counters = replace(LAB, cpu="EPYC,pmu=on", kvm_amd="lwp_source=perf")
    assert '"return": "prompt"' in in_l1(counters, ["/bin/sh", "-c", command]).said


HOST_FILE = """
mkdir -p /etc/vlwp
printf '%s\\n' announce=on lwp-max-events=3 >/etc/vlwp/host.conf
"$2" -machine none -accel kvm -nodefaults -display none -qmp stdio <<end
{"execute": "qmp_capabilities"}
{"execute": "query-cpu-model-expansion", "arguments": {"type": "full", "model": {"name": "host"}}}
{"execute": "query-cpu-model-expansion", "arguments": {"type": "full",
 "model": {"name": "EPYC", "props": {"lwp": true}}}}
{"execute": "quit"}
end
rm /etc/vlwp/host.conf
"""


@pytest.mark.parametrize("lab, says", [
    pytest.param(LAB, ('"lwp": true', '"lwp-max-events": 3', '"lwp": true', '"lwp-max-events": 3'), id="lwp"),
    pytest.param(STOCK, ('"lwp": false', "KVM on this host has no LWP"), id="stock"),
])
def test_host_file(in_l1: InL1, lab: L1, says: tuple[str, ...]) -> None:
    """With KVM a CPU has the numbers of the host's file, and what that announces is there if KVM has it."""
    done = in_l1(lab, script(HOST_FILE))
    found = re.findall('"lwp": (?:true|false)|"lwp-max-events": 3|KVM on this host has no LWP', done.said)
    assert done.status == 0 and sorted(found) == sorted(says)


@pytest.mark.soak
def test_conformance_stock(in_l1: InL1, tmp_path: Path) -> None:
    """The suite that stands alone, where the kernel's own KVM has no LWP: all rows but those of absence are skipped."""
    place = tmp_path / "suite"
    install_conformance.install(place)
    argv = suite.command(places.qemu(), "EPYC,check=off", suite.by_kernel(place), accel="kvm")
    (place / "log").write_text(in_l1(STOCK, argv).said, encoding="utf-8")
    status, results = suite.judged(place, place / "log")
    assert status == 0
    suite.want_absence(place, results)
