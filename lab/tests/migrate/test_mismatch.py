# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest has seen of LWP must be the same where it goes: every difference is refused in plain words, before the
guest stops at its source, where it then runs on. A machine without LWP goes to an unpatched QEMU of the same version,
and comes from one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.common import places
from lab.tests.conftest import Start
from lab.tests.flat.kernel import flat

BENCH = flat("test=bench cpus=1 rounds=1000000")
INCOMING = (*BENCH, "-incoming", "defer")
BITS = {
    "instructions": "ire", "branches": "bre", "core clocks": "cnh", "reference clocks": "rnh",
    "continuous mode": "cont", "time stamps": "ptsc", "interrupt": "int",
}
SLOW = 50000  # bytes a second: a guest of a usual size has memory that takes much longer than a refusal


def cpu(properties: str) -> str:
    """With LWP or, "", without."""
    return ",".join(filter(None, ["EPYC,check=off", properties]))


MISMATCHES = (
    ("fewer events", "+lwp", "+lwp,lwp-max-events=3",
     "source offers 6 events, this host 3: start both with lwp-max-events=3"),
    ("more events", "+lwp,lwp-max-events=2", "+lwp",
     "source offers 2 events, this host 6: start both with lwp-max-events=2"),
    ("LWPVAL missing", "+lwp", "+lwp,lwp-val=off",
     "source offers LWPVAL records, this host does not: start both with lwp-val=off"),
    *((f"{name} missing", "+lwp", f"+lwp,lwp-{bit}=off", f"start both with lwp-{bit}=off")
      for name, bit in BITS.items()),
    ("data cache misses missing", "+lwp,lwp-dme=on", "+lwp",
     "source offers data cache miss records, this host does not: start both with lwp-dme=off"),
    ("interrupt too many", "+lwp,lwp-int=off", "+lwp",
     "this host offers threshold interrupts, source does not: start both with lwp-int=off"),
    ("larger smallest ring", "+lwp", "+lwp,lwp-min-buffer=4", "start both with lwp-min-buffer=4"),
    ("smaller latency", "+lwp,lwp-latency-max=20", "+lwp,lwp-latency-max=12",
     "source offers latencies of 20 bits, this host 12: start both with lwp-latency-max=12"),
    ("other revision", "+lwp", "+lwp,lwp-rev=2007",
     "source has lwp-rev=43724, this host 2007: start both with the same"),
    ("other contexts", "+lwp", "+lwp,lwp-context=os",
     "source has lwp-context=auto, this host os: start both with the same"),
    ("other delivery", "+lwp", "+lwp,lwp-delivery=prompt",
     "source has lwp-delivery=exact, this host prompt: start both with the same"),
    ("preset off there", "+lwp", "+lwp,lwp-preset=off",
     "source has lwp-preset=on, this host off: start both with the same"),
    ("preset off here", "+lwp,lwp-preset=off", "+lwp",
     "source has lwp-preset=off, this host on: start both with the same"),
    ("other profile", "+lwp,lwp-profile=fam15h",
     "+lwp,lwp-max-events=3,lwp-latency-max=0,lwp-cont=off,lwp-ptsc=off",
     "start both with the same lwp-profile"),
    ("VMCB area missing", "+lwp,lwp-context=os,lwp-vmcb=on", "+lwp,lwp-context=os", "start both with lwp-vmcb=off"),
    ("destination without LWP", "+lwp", "", "section or instance 'x86-lwp'"),
    ("unpatched destination", "+lwp", "", "section or instance 'x86-lwp'"),
    ("source without LWP", "", "+lwp", "comes without LWP and has it here"),
)


@pytest.mark.parametrize("what, source, destination, says", [
    pytest.param(*row, id=row[0], marks=[pytest.mark.unpatched] * row[0].startswith("unpatched")) for row in MISMATCHES
])
def test_mismatch(vm: Start, tmp_path: Path, what: str, source: str, destination: str, says: str) -> None:
    """A destination that does not fit refuses and says why; the guest runs on at its source, and has not stopped
    (43724-117, 2007-109).

    The source waits for the destination's word (return path)."""
    late = not source  # it has nothing to say early, so it is found when the CPU is loaded
    one = vm(cpu(source), *BENCH, name="source")
    emulator = places.qemu_base() if what.startswith("unpatched") else places.qemu()
    other = vm(cpu(destination), *INCOMING, name="destination", qemu=emulator)
    for it in (one, other):
        it.way("return-path")
    if not late:
        one.do("migrate-set-parameters", **{"max-bandwidth": SLOW})
    uri = f"unix:{tmp_path}/socket"
    other.do("migrate-incoming", uri=uri)
    one.events.clear()
    one.do("migrate", uri=uri)
    stopped = False
    while (event := one.event("MIGRATION", "STOP")).get("data", {}).get("status") not in ("failed", "completed"):
        stopped |= event["event"] == "STOP"
    assert event["data"]["status"] == "failed"
    other.wait()
    assert says in other.said()
    assert late or not stopped, "refused after the guest had stopped"
    if stopped and one.status() != "running":  # it says that migration has failed, and only then continues
        one.event("RESUME")
    assert one.status() == "running"


# After the name of the section of what both sides must agree on, its instance and version: bytes, as they stand in
# lwp-agree.c. A machine cannot be started with another number of these alone.
TERMS, PROFILE = b"\7x86-lwp", "start both with the same lwp-profile"
ALONE = {"version": 3, "event_offset": 5, "event_size": 6, "latency_rnd": 9, "cb_size": 11, "ecx_features": 19}


def refusal(vm: Start, path: Path, edit: Callable[[bytearray, int], None]) -> str:
    """Why a stream is refused; edit: gets it, and where the number of the section's instance is."""
    stream = vm(cpu("+lwp"), *BENCH, "-S").save(path)
    edit(stream, stream.index(TERMS) + len(TERMS))
    path.write_bytes(stream)
    it = vm(cpu("+lwp"), *INCOMING)
    assert not it.load(path)
    it.wait()
    return it.said()


def test_another_format(vm: Start, tmp_path: Path) -> None:
    """A machine of the version that had contexts of format 1 is refused in one line.

    Its section of what both sides must agree on has version 1, and no number of the format at its end."""
    def edit(stream: bytearray, at: int) -> None:
        stream[at + 7] = 1  # the version; the instance is before it
        del stream[at + 8 + 20]

    assert "LWP: source sends contexts in format 1, this host takes format 2" in refusal(vm, tmp_path / "stream", edit)


@pytest.mark.parametrize("name", ALONE)
def test_number_alone(vm: Start, tmp_path: Path, name: str) -> None:
    """A host that differs in one number of leaf 8000_001C, which has no property of its own, is refused in one line."""
    def edit(stream: bytearray, at: int) -> None:
        stream[at + 8 + ALONE[name]] ^= 1

    assert refusal(vm, tmp_path / "stream", edit).count(PROFILE) == 1


@pytest.mark.unpatched
@pytest.mark.parametrize("comes, properties", [(False, ""), (True, ""), (False, "pmu=on"), (True, "pmu=on")], ids=[
    "to-unpatched", "from-unpatched", "to-unpatched-counters", "from-unpatched-counters",
])
def test_without_lwp(vm: Start, tmp_path: Path, comes: bool, properties: str) -> None:
    """Without LWP nothing is different, whoever sends; with counters that nothing has used, neither."""
    ours, base = places.qemu(), places.qemu_base()
    vm(cpu(properties), *BENCH, qemu=base if comes else ours).save(tmp_path / "plain")
    it = vm(cpu(properties), *INCOMING, qemu=ours if comes else base)
    assert it.load(tmp_path / "plain") and it.status() == "running"


# After the name of the PIT's section in a stream: instance and version, irq_disabled, three channels of 32 bytes, and
# the time of the first one again. Of a channel the count, when it was loaded, when it looks at its output next.
PIT, COUNT, TIMES = b"\5i8254", 12, (12 + 16, 12 + 24, 12 + 3 * 32)
LONG = 0x7fffffff  # of 1193182 Hz: half an hour
BEFORE = -100 * 10**9  # ns


def test_pit(vm: Start, tmp_path: Path) -> None:
    """A machine whose PIT was loaded before zero, as one that comes from KVM of a busy host may say,
    runs, and QEMU answers. Edited into a save."""
    path = tmp_path / "stream"
    stream = vm(cpu("+lwp"), *BENCH, "-S").save(path)
    pit = stream.index(PIT) + len(PIT)
    stream[pit + COUNT:pit + COUNT + 4] = LONG.to_bytes(4, "big")
    for at in TIMES:
        stream[pit + at:pit + at + 8] = BEFORE.to_bytes(8, "big", signed=True)
    path.write_bytes(stream)
    it = vm(cpu("+lwp"), *INCOMING)
    assert it.load(path)
    it.do("cont")
    assert it.status() == "running"
