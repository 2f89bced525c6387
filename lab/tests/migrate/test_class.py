# SPDX-License-Identifier: GPL-2.0-or-later
"""The class of a host, which lwpctl caps says in several formats: QEMU accepts a guest that leaves its LWP open from a
host of the same class, and of no other."""

from itertools import combinations
from pathlib import Path

import pytest

from lab.common import places
from lab.tests.conftest import Start, good, run
from lab.tests.migrate.test_mismatch import BENCH, INCOMING, MISMATCHES, TERMS, cpu

ROWS = [row for row in MISMATCHES if row[1] and row[2]]
SIDES = sorted({side for row in ROWS for side in row[1:3]})
# The same LWP in other words.
EQUAL = (
    ("+lwp", "+lwp,lwp-max-events=6,lwp-context=auto,lwp-delivery=exact,lwp-preset=on,lwp-rev=43724"),
    ("+lwp,lwp-max-events=4", "+lwp,lwp-max-events=4,lwp-cnh=off,lwp-rnh=off"),
    ("+lwp,lwp-rev=2007", "+lwp,lwp-rev=2007,lwp-val=off,lwp-max-events=3"),
)
CLASS = "43724-auto-exact-f2-80062016-e0010230-e000006f"
NOVA = f"""\
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: $COMPUTE_NODE
    traits:
      additional:
        - CUSTOM_LWP
        - CUSTOM_LWP_EVENTS_6
        - CUSTOM_LWP_CLASS_{CLASS.upper().replace('-', '_')}
"""
NFD = f"""\
feature.node.kubernetes.io/lwp=true
feature.node.kubernetes.io/lwp.max-events=6
feature.node.kubernetes.io/lwp.class={CLASS}
"""
METRIC = """\
# HELP lwp_host_info LWP of guests that say no more than lwp=on, 0: there is none
# TYPE lwp_host_info gauge
lwp_host_info"""
# As a host says it, and one whose defaults nobody can have.
FORMATS = {
    "class": (f"{CLASS}\n", ""),
    "nova": (NOVA, "meta:\n  schema_version: '1.0'\nproviders: []\n"),
    "tags": (f"lwp:{CLASS}\n", ""),
    "nfd": (NFD, ""),
    "prometheus": (f'{METRIC}{{class="{CLASS}",max_events="6"}} 1\n', f"{METRIC} 0\n"),
}


def emulator(work: Path, side: str) -> Path:
    """A QEMU of which these are the defaults (lwp-vmcb needs svm)."""
    path = work / "emulator"
    words = "".join(f" -global x86_64-cpu.{setting}" for setting in ("svm=on", *side.split(",")[1:]))
    path.write_text(f'#!/bin/sh\nexec {places.qemu()}{words} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def class_of(work: Path, side: str) -> str:
    """What lwpctl says of it."""
    return good([places.LWPCTL, "caps", f"--qemu={emulator(work, side)}", "--class"]).strip()


def accepts(vm: Start, work: Path, source: str, destination: str) -> bool:
    """Does QEMU take a guest of the source at the destination?"""
    path = work / source
    if not path.exists():
        vm(cpu(source), *BENCH, "-S").save(path)
    it = vm(cpu(destination), *INCOMING)
    taken = it.load(path)
    it.kill()
    return taken


def test_class_refused(tmp_path: Path) -> None:
    """No two sides that QEMU refuses (test_mismatch.py) are of one class, each of which is at most a label's 63
    characters."""
    classes = {side: class_of(tmp_path, side) for side in SIDES}
    assert not [row[0] for row in ROWS if classes[row[1]] == classes[row[2]]]
    assert max(map(len, classes.values())) <= 63


@pytest.mark.parametrize("one, other", EQUAL)
def test_class_accepted(vm: Start, tmp_path: Path, one: str, other: str) -> None:
    """QEMU accepts what is of one class, there and back."""
    assert class_of(tmp_path, one) == class_of(tmp_path, other)
    assert accepts(vm, tmp_path, one, other) and accepts(vm, tmp_path, other, one)


@pytest.mark.soak
def test_class_all_pairs(vm: Start, tmp_path: Path) -> None:
    """Of all pairs of sides, QEMU accepts those of one class and no other."""
    classes = {side: class_of(tmp_path, side) for pair in (SIDES, *EQUAL) for side in pair}
    wrong = [
        pair for pair in combinations(classes, 2)
        if accepts(vm, tmp_path, *pair) != (classes[pair[0]] == classes[pair[1]])
    ]
    assert not wrong


def test_class_format(vm: Start, tmp_path: Path) -> None:
    """The format of contexts in the class is that which QEMU sends, in the last byte of its terms."""
    stream = vm(cpu("+lwp"), *BENCH, "-S").save(tmp_path / "stream")
    number = stream[stream.index(TERMS) + len(TERMS) + 8 + 20]
    assert class_of(tmp_path, "+lwp").split("-")[3] == f"f{number}"


@pytest.mark.parametrize("name", FORMATS)
def test_format(tmp_path: Path, name: str) -> None:
    """Each format as it is written, of a host with LWP and of one without."""
    for side, text in zip(("+lwp", "+lwp,lwp-dme=on,lwp-latency-max=0"), FORMATS[name]):
        ended = run([places.LWPCTL, "caps", f"--qemu={emulator(tmp_path, side)}", f"--format={name}"])
        assert ended.out == text and ended.status == (name == "class" and not text)
