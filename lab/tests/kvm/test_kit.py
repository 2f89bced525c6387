# SPDX-License-Identifier: GPL-2.0-or-later
"""The kit, as a stranger uses it: on a machine whose counters nobody knows, with the kernel's own KVM, which its owner
has loaded with parameters of his own (./vlwp package --kit)."""

import random
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.building import kernel
from lab.common.rows import late, planted
from lab.nested.l1 import L1
from lab.start import kit
from lab.tests.kvm.conftest import Done, InL1
from lab.tests.plugin import Tell

LAB = L1(smp=2, memory=2048, cpu="EPYC,pmu=on,perfctr-core=on", stock=True, kvm_amd="nested=0", limit=1500)
ROWS = {
    "late": f"{late('zen3')},insns.entry={{}}",
    "branches": f"{late('zen2')},insns.npf={{}},insns.iret=1,branches.entry=1",
    "unknown": f"{late('zen2')},insns.intr=0/{{}},lost=9",
}
LACKING = "test_clock/core"
TESTS = ["test_insn", "test_step/perf", "test_tf/perf"]
# Where counts are right, and not each instruction is stepped.
COUNTED = ["test_prompt", "test_release", "test_perf/unknown", "test_vpmu/unknown"]
# What must be as before: modules, but for their order and addresses; their parameters; what the kernel's perf may do.
STATE = r"""
state() { cut -d' ' -f1-3 /proc/modules | sort; grep -r . /sys/module/kvm*/parameters; cd /proc/sys/kernel
    cat nmi_watchdog perf_event_max_sample_rate; cd /tmp; }
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
cd /proc/sys/kernel; echo 1 >watchdog; echo 1 >nmi_watchdog; rm -f /tmp/*.txt; cd /tmp; state >/tmp/before
"""
AFTER = 'echo "status $?"; cat /tmp/k.txt; state | diff /tmp/before - && echo as before'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kit for L1's kernel."""
    place = tmp_path_factory.mktemp("kit") / "kit"
    kernel.build()
    kit.make(place, kernel.version())
    return place


def stranger(in_l1: InL1, lab: L1, script: str) -> Done:
    """What he does, then his machine is looked at."""
    done = in_l1(lab, ["sh", "-c", f"{STATE}{script}; {AFTER}"])
    assert done.said.splitlines()[-1] == "as before"
    return done


def first(names: Iterable[str]) -> list[object]:
    """The first is tried in each test, the others in the soak."""
    return [pytest.param(name, marks=[pytest.mark.soak] * bool(at)) for at, name in enumerate(names)]


@pytest.mark.parametrize("name", first(ROWS))
def test_kit(in_l1: InL1, made: Path, seed: int, tell: Tell, name: str) -> None:
    """The kit measures, tests with what it has measured, and leaves the machine as it was."""
    row = ROWS[name].format(random.Random(seed).randint(1, 300))
    tell(row)
    tests = TESTS if name == "unknown" else TESTS + COUNTED
    script = f"{made}/run --quick -o k.txt {LACKING} {' '.join(tests)}"
    said = stranger(in_l1, replace(LAB, devices=planted(row)), script).said
    assert "status 0" in said and "\nthis machine is as it was" in said
    for test in tests:
        assert [line for line in said.splitlines() if line.startswith(test) and "passed, 0 failed" in line]
    assert f"{LACKING:<24}skipped: needs a processor that takes one clock" in said
    assert ("exact: 0 overshoots" in said) == (tests != TESTS)


@pytest.mark.parametrize("signal", first(["INT", "TERM", "HUP"]))
def test_kit_ended(in_l1: InL1, made: Path, signal: str) -> None:
    """A signal ends the kit's test at once; the machine is as before, and the report says so."""
    script = f"""{made}/run --row=insns.entry=0 -o k.txt test_step/perf hostile >/tmp/out & kit=$!
until grep -q ^hostile /tmp/out; do sleep 0.1; kill -0 $kit || break; done
kill -{signal} $kit; wait $kit"""
    said = stranger(in_l1, LAB, script).said
    assert "status 1" in said and f"\nended before its end: SIG{signal}\n" in said
    assert re.search("^test_step/perf +[0-9]+ passed, 0 failed$", said, re.MULTILINE)


def test_kit_fails(in_l1: InL1, made: Path, tmp_path: Path) -> None:
    """After a program that fails the others run, and one that lacks something is skipped; the report has what they
    said, and the machine is as before."""
    copy = shutil.copytree(made, tmp_path / "kit")
    broken = copy / "tests/kvm_test_insn"
    broken.write_text("#!/bin/sh\necho not ok 1 - broken\necho 1..1\n", encoding="ascii")
    lacking = copy / "tests/kvm_test_abi"
    lacking.write_text("#!/bin/sh\necho '1..0 # SKIP no such thing here'\nexit 77\n", encoding="ascii")
    said = stranger(in_l1, LAB, f"{copy}/run --row=insns.entry=0 -o k.txt test_abi test_insn test_unused").said
    assert f"\n{'test_abi':<24}skipped: no such thing here\n" in said
    assert "status 1" in said and "\n  | not ok 1 - broken\n" in said
    assert re.search("^test_unused +[0-9]+ passed, 0 failed$", said, re.MULTILINE)


def test_kit_refuses(in_l1: InL1, made: Path) -> None:
    """What cannot go well is refused in one line, and nothing is changed: KVM in use, another kernel, a report that is
    there, a test that is not, no root."""
    script = f"""cd {made}; mkdir /tmp/kit; cp r* *.py version /tmp/kit; cd /tmp
echo 6.1.0-1-amd64 >kit/kernel; touch k.txt there.txt
exec 3</dev/kvm; {made}/run; exec 3<&-; kit/run; {made}/run -o there.txt; {made}/run test_none
setpriv --reuid=1 kit/run"""
    lines = stranger(in_l1, LAB, script).said.splitlines()
    wanted = "KVM is in use (1)", "this kit is for the kernel 6.1.0-1-amd64, not 6", "File exists", "no test test_none"
    for text in (*wanted, "run it as root"):
        assert len([line for line in lines if text in line]) == 1
