# SPDX-License-Identifier: GPL-2.0-or-later
"""`test kvm --here`, in a machine whose numbers the tests do not know, as they do not know a real one's."""

import random
import re
from dataclasses import replace

import pytest

from lab.common import places
from lab.common.rows import late, perf, planted
from lab.nested.l1 import L1
from lab.tests.kvm.conftest import Done, InL1
from lab.tests.plugin import Tell

HERE = L1(smp=2, memory=2048, kvm_amd="lwp_source=perf", limit=1500, kernel_args="nmi_watchdog=0")
# Rows that count by counters, and those that expect what only the lab makes so.
COUNTED = "test_debug/perf test_perf/unknown test_prompt test_release test_tf/perf test_vpmu/unknown".split()
PLANTED = "test_net/on test_clock/core test_mode test_off/perf test_row/far test_source".split()
HEAD = r"^model name +AMD EPYC.*\n(.*\n)+kvm_amd +lwp=Y .*lwp_source=perf"


def unknown(seed: int) -> L1:
    """Lateness and overcount as a real processor may have them."""
    draw = random.Random(seed)
    row = f"{late(draw.choice(('zen2', 'zen3', 'zen3/2', 'zen2/7')))},insns.entry={draw.randint(0, 300)}"
    return replace(HERE, cpu="EPYC,pmu=on,perfctr-core=on", devices=planted(row), kvm_amd=perf(row))


def results(done: Done) -> dict[str, str]:
    """The verdicts of the rows."""
    return dict(re.findall(r"::test_row\[(\S+?)\]\S* (PASSED|FAILED|SKIPPED \(.*?\))", done.said))


def here(in_l1: InL1, lab: L1, *words: str) -> Done:
    """The command, on a wide terminal, where debugfs is mounted."""
    script = 'mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug; COLUMNS=250 exec "$@"'
    return in_l1(lab, ["sh", "-c", script, "-", places.TOP / "vlwp", "test", "kvm", "--here", *words])


def test_here(in_l1: InL1, seed: int, tell: Tell) -> None:
    """test kvm --here says what machine this is, and tests it. Of the rows that count by counters, and of those that
    cannot run there, it runs one each."""
    lab, draw = unknown(seed), random.Random(seed)
    counted, skipped = draw.choice(COUNTED), draw.choice(PLANTED)
    tell(f"{lab.devices[1]}: {counted}, {skipped}")
    done = here(in_l1, lab, "-k", f"test_insn or {counted} or {skipped}")
    said = results(done)
    assert done.status == 0 and re.search(HEAD, done.said, re.MULTILINE)
    assert [said["test_insn"], said[counted]] == ["PASSED"] * 2
    assert "(needs " in said[skipped]


@pytest.mark.soak
def test_here_whole(in_l1: InL1, seed: int, tell: Tell) -> None:
    """All rows of test kvm --here pass, or say what they need, on a machine of whose counters they know nothing."""
    lab = replace(unknown(seed), limit=None)
    tell(lab.devices[1])
    done = here(in_l1, lab)
    said = results(done)
    assert done.status == 0, "\n".join(f"{name}: {verdict}" for name, verdict in said.items())
    assert not [name for name in COUNTED if said[name] != "PASSED"]
    assert not [name for name in PLANTED if "(needs " not in said[name]]


def test_here_stock(in_l1: InL1) -> None:
    """test kvm --here says what is missing where KVM has no LWP, in one line."""
    done = here(in_l1, replace(HERE, stock=True, kvm_amd=""))
    assert done.status == 1
    assert done.said.count("this machine's kvm_amd has no LWP: './vlwp install kvm'") == 1
