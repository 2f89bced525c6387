# SPDX-License-Identifier: GPL-2.0-or-later
"""What QEMU itself does beside the rows of the flat tests: CPUs that it refuses, what its monitor says, CPUs that come
and go, its debugger's stub. TCG or no accelerator at all; no guest but the flat kernel."""

import re
import signal
import time
from pathlib import Path

import pytest

from lab.common import places
from lab.tests.conftest import Start, machine, run
from lab.tests.flat.kernel import LWP, PLAIN, PMU, STOPPED, bench, flat, symbols
from lab.common.qmp import PATIENCE, Refused, Stub, Vm
from lab.common.rows import late
from lab.testing.suite import PASSED

ROW = "x-x86-pmu-row,id=row"

ENUMS = {
    "lwp-rev": "X86LwpRevision", "lwp-context": "X86LwpContext", "lwp-profile": "X86LwpProfile",
    "lwp-delivery": "X86LwpDelivery",
}


@pytest.mark.parametrize("cpu, words, says", [
    pytest.param(PMU, ("-object", f"{ROW},ipc=0"), "ipc is 1 to 16", id="ipc"),
    pytest.param(PMU, ("-object", f"{ROW},predictor=3bit"), "Parameter 'predictor' does not accept value '3bit'",
                 id="predictor"),
    pytest.param(f"{PMU},pmu-version=6", (), "pmu-version is at most 5", id="pmu-version"),
    pytest.param(f"{LWP},-apic,lwp-int=on", (), "lwp-int=on needs apic=on", id="int-no-apic"),
    pytest.param(f"{PMU},ibs-cache=on", (), "ibs-cache=on needs TCG, pmu=on and ibs=on", id="ibs-cache"),
    pytest.param(f"{PMU},ibs=on,ibs-cache=on,ibs-cache-ram=3", (), "ibs-cache-ram: a data cache has a latency",
                 id="ibs-cache-word"),
    pytest.param(f"{LWP},lwp-dme=on,lwp-cache-l1d=32K", (),
                 "lwp-cache-l1d is SIZE/WAYS/LATENCY as in 32K/8/4, not '32K'", id="cache-word"),
    pytest.param(f"{LWP},lwp-dme=on,lwp-cache-l1d=none", (), "lwp-cache-l1d is SIZE/WAYS/LATENCY", id="cache-none"),
    pytest.param(f"{LWP},lwp-dme=on,lwp-cache-l2=96K/8/12", (), "lwp-cache-l2: a data cache has a size of its ways",
                 id="cache-sets"),
    pytest.param(f"{LWP},lwp-dme=on,lwp-cache-ram=3", (), "lwp-cache-ram: a data cache has a latency",
                 id="cache-latency"),
    pytest.param(f"{LWP},lwp-cache-l2=none", (), "lwp-cache-* need lwp-dme=on", id="cache-unused"),
    pytest.param(f"{LWP},lwp-profile=fam15h,lwp-dme=on", (), "lwp-dme=on needs lwp-max-events=4 or more",
                 id="cache-fam15h"),
    pytest.param(f"{LWP},lwp-rev=2007,lwp-dme=on,lwp-latency-rounding=1", (), "revision 2007 of LWP has none",
                 id="cache-rounding"),
    *(pytest.param(f"{LWP},{name}=strange", (), f"Parameter '{name}' does not accept value 'strange'", id=name)
      for name in ENUMS),
])
def test_refused(cpu: str, words: tuple[str, ...], says: str) -> None:
    """QEMU refuses a combination that cannot be, in one line."""
    ended = run(machine(cpu, *words, STOPPED), PATIENCE)
    assert ended.status == 1 and says in ended.err and ended.said.count("\n") == 1


@pytest.mark.parametrize("accel, words, says", [
    ("qtest", (), "lwp=on: this accelerator has no LWP"),
    ("tcg", ("-global", "x86_64-cpu.full-cpuid-auto-level=off"), "lwp=on needs xlevel=0x8000001c"),
], ids=["accelerator", "level"])
def test_never_without(accel: str, words: tuple[str, ...], says: str) -> None:
    """A guest that was to have LWP never starts without it, nor without its leaf, as on machine types so old that QEMU
    11.1 has none."""
    if words and "full-cpuid-auto-level" not in run([places.qemu(), "-device", "EPYC-x86_64-cpu,help"]).out:
        pytest.skip("needs a QEMU with old machine types")
    ended = run(machine("Opteron_G1,check=off,lwp=on", *words, STOPPED, accel=accel), PATIENCE)
    assert ended.status == 1 and says in ended.err and ended.said.count("\n") == 1


@pytest.mark.parametrize("cpu", [pytest.param("Skylake-Client,check=off", id="none"), pytest.param(PMU, id="amd")])
def test_idle_setting(cpu: str) -> None:
    """What would have no effect is refused: a version of counters without counters, or of another vendor's."""
    ended = run(machine(f"{cpu},pmu-version=2", STOPPED), PATIENCE)
    assert ended.status == 1 and ended.said.count("\n") == 1
    assert "pmu-version: this CPU has no such counters of TCG" in ended.err


@pytest.mark.parametrize("objects, says", [
    pytest.param((f"{ROW},row=insns.entry=1,,insns.nmi=2",), "row: the place is set twice, at ", id="twice"),
    pytest.param((f"{ROW},row=insns.lock=1",), "row: TCG has nothing that counts too much at insns.lock", id="lock"),
    pytest.param((f"{ROW},row=far.rep=?",), "row: TCG has nothing that counts too much at far.rep", id="rep"),
    pytest.param((ROW, "x-x86-pmu-row,id=other"), "there is one x-x86-pmu-row already", id="second"),
])
def test_row_refused(objects: tuple[str, ...], says: str) -> None:
    """A row that nobody can read, that TCG cannot plant, or a second one, is refused in one line."""
    ended = run(machine(PMU, *(word for text in objects for word in ("-object", text)), STOPPED), PATIENCE)
    assert ended.status == 1 and says in ended.err and ended.said.count("\n") == 1


def test_row_changes(vm: Start) -> None:
    """A row can be set while the guest runs, says what is set, and goes; one that is refused changes nothing."""
    it = vm(PMU, *flat("test=pmu_overflow cpus=1 skid=13"), "-object", ROW, STOPPED)
    for text in ("far.hlt=1/2", late("13")):
        it.do("qom-set", path="/objects/row", property="row", value=text)
        with pytest.raises(Refused, match="row: the numbers are not in order"):
            it.do("qom-set", path="/objects/row", property="row", value="far.hlt=2/1")
        assert it.do("qom-get", path="/objects/row", property="row") == text
    it.do("cont")
    assert it.wait() == PASSED


@pytest.mark.parametrize("kind, has", [("pc-q35-9.2", False), ("q35", True)], ids=["pc-q35-9.2", "q35"])
def test_old_machine_type(vm: Start, kind: str, has: bool) -> None:
    """A machine type that is older than the counters shows with pmu=on the processor that it showed before."""
    if not has:
        intel = flat("test=pmu_intel_off cpus=1", "-serial", "stdio")
        ended = run(machine("Skylake-Client,check=off,pmu=on", *intel, kind=kind), PATIENCE)
        assert "ok 6 - " in ended.out and "not ok" not in ended.out
    assert vm(PMU, STOPPED, kind=kind).cpu("perfctr-core") == has


def refused(it: Vm, says: str, **properties: object) -> None:
    """One more CPU is refused."""
    with pytest.raises(Refused, match=says):
        it.plug(**properties)


def taken(it: Vm, tmp_path: Path) -> None:
    """A second CPU is taken, and the machine can be saved."""
    it.plug()
    assert len(it.do("query-cpus-fast")) == 2
    it.save(tmp_path / "stream")


ALIKE = "must be the same for all CPUs"


@pytest.mark.parametrize("name, value", [
    ("lwp", False), ("lwp-rev", "2007"), ("lwp-context", "os"), ("lwp-max-events", 2), ("lwp-val", False),
    ("lwp-context-age", 7), ("lwp-dme", True), ("lwp-preset", False),
])
def test_unlike_cpus(vm: Start, tmp_path: Path, name: str, value: object) -> None:
    """QEMU refuses a CPU whose LWP is not that of the others, many times too, and takes one with the same then."""
    it = vm(LWP, "-smp", "1,maxcpus=2", STOPPED)
    for _ in range(20):
        refused(it, ALIKE, **{name: value})
    taken(it, tmp_path)


def test_lwp_beside_a_cpu_without(vm: Start) -> None:
    """QEMU refuses it."""
    refused(vm(PLAIN, "-smp", "1,maxcpus=2", STOPPED), ALIKE, lwp=True)


def test_failed_realize(vm: Start, tmp_path: Path) -> None:
    """A CPU that is refused late is forgotten: it is in no list, and its place is free."""
    it = vm(LWP, "-smp", "1,maxcpus=2", STOPPED)
    for _ in range(20):
        refused(it, "phys-bits should be", **{"phys-bits": 31})
        assert len(it.do("query-cpus-fast")) == 1
    taken(it, tmp_path)


@pytest.mark.parametrize("accel, level", [("qtest", 0x8000001e), ("tcg", 0x80000022)])
def test_level(vm: Start, accel: str, level: int) -> None:
    """PerfMonV2 raises the level of CPUID for TCG only: without, it is as in the version that the patches change."""
    assert vm(f"{PMU},+perfmon-v2", STOPPED, accel=accel).cpu("xlevel") == level


EXPANSIONS = 300


def test_expansions(vm: Start, tmp_path: Path) -> None:
    """query-cpu-model-expansion with lwp=on keeps no memory: struct lwp_caps is freed with a CPU that is never
    realized."""
    blocks = []
    for lwp in (False, True):
        path = tmp_path / "blocks"  # of malloc, in use at the end
        it = vm("EPYC", STOPPED, env={
            "LD_PRELOAD": str(places.HOST / "lab/testing/libsmall-blocks.so"), "SMALL_BLOCKS": str(path)})
        for _ in range(EXPANSIONS):
            it.do("query-cpu-model-expansion", type="full", model={"name": "EPYC", "props": {"lwp": lwp}})
        it.do("quit")
        assert it.wait() == 0
        blocks.append(int(path.read_text(encoding="ascii")))
    assert blocks[1] - blocks[0] < EXPANSIONS // 2, f"{EXPANSIONS} expansions keep {blocks[1] - blocks[0]} blocks"


@pytest.mark.parametrize("cpu, feature, has", [
    (LWP, "fsgsbase", True),  # 43724-907
    # Counters without pmu=on go without a word: libvirt's host-model names what -cpu max has.
    (f"{PLAIN},+perfctr-core", "perfctr-core", False), (PMU, "perfctr-core", True),
])
def test_available(vm: Start, cpu: str, feature: str, has: bool) -> None:
    """LWP takes no other feature from a CPU, and a CPU lacks nothing for which enforce would refuse it."""
    it = vm(cpu, STOPPED)
    assert feature not in it.cpu("unavailable-features")
    assert it.cpu(feature) == has


@pytest.mark.parametrize("newest", [False, True], ids=["oldest", "newest"])
def test_never_default(vm: Start, newest: bool) -> None:
    """No model has LWP or counters unless it is asked for."""
    it = vm("EPYC", STOPPED)
    kinds = [entry["name"] for entry in it.do("query-machines") if entry["name"].startswith("pc-q35-")]
    kinds.sort(key=lambda name: [int(number) for number in re.findall("[0-9]+", name)])
    models = {entry["name"] for entry in it.do("query-cpu-definitions")} - {"host", "max", "base"}  # max: but LWP
    assert len(kinds) > 1 and len(models) > 50
    it = vm("EPYC", STOPPED, kind=kinds[-1] if newest else kinds[0])
    for model in models:
        props = it.do("query-cpu-model-expansion", type="full", model={"name": model})["model"]["props"]
        assert not any(props.get(feature) for feature in ("lwp", "pmu", "perfctr-core", "perfmon-v2")), model


def test_enums(vm: Start) -> None:
    """lwp-rev and its like have types of their own."""
    it = vm(LWP, STOPPED)
    path = it.do("query-cpus-fast")[0]["qom-path"]
    types = {entry["name"]: entry["type"] for entry in it.do("qom-list", path=path)}
    assert {name: types.get(name) for name in ENUMS} == ENUMS


@pytest.fixture
def profiled(vm: Start) -> Vm:
    """A machine whose program has left records."""
    it = vm(LWP, *bench(3000))
    while not it.stat("records"):
        pass
    return it


def test_query_stats(vm: Start, profiled: Vm) -> None:
    """query-stats has what a vCPU and the machine have counted, all or some by name; and none without LWP."""
    def stats(target: str, **more: object) -> dict[str, int]:
        parts = profiled.do("query-stats", target=target, providers=[{"provider": "lwp", **more}])
        return {entry["name"]: entry["value"] for part in parts for entry in part["stats"]}

    profiled.do("stop")
    counted = stats("vcpu")
    assert counted["records"] + counted["missed"] == counted["counted-instructions"] // 100 > 0
    assert stats("vm")["contexts-created"] == 1
    assert list(stats("vcpu", names=["missed"])) == ["missed"]
    parts = {part["target"]: part["stats"] for part in profiled.do("query-stats-schemas", provider="lwp")}
    for target in ("vcpu", "vm"):
        assert {entry["name"] for entry in parts[target]} == set(stats(target))
    assert not vm(PLAIN, STOPPED).do("query-stats", target="vcpu")


def test_unmodelled(vm: Start, tmp_path: Path) -> None:
    """IBS has one line of -d unimp, however often it is on; query-stats has the number of what has no model."""
    log = tmp_path / "unimp"
    it = vm(f"{PMU},+ibs", *flat("test=pmu_ibs cpus=1", "-d", "unimp", "-D", str(log), "-action", "shutdown=pause"))
    it.event("SHUTDOWN")
    assert log.read_text(encoding="utf-8").count("pmu: IBS has no model of ") == 1
    assert [part["target"] for part in it.do("query-stats-schemas", provider="tcg-pmu")] == ["vm"]
    assert it.do("query-stats", target="vm")[0]["stats"] == [{"name": "unmodelled", "value": 1}]


def test_plug_profiled(vm: Start) -> None:
    """CPUs come while a program is profiled, which loses nothing."""
    it = vm(LWP, *bench(9000), "-smp", "1,maxcpus=4")
    for _ in range(3):
        before = it.stat("records")
        it.plug(id=f"more{before}")
        while it.stat("records") == before:
            assert it.child.poll() is None, "the program has ended too soon"
    assert len(it.do("query-cpus-fast")) == 4
    assert it.wait() == PASSED


def test_replug(vm: Start, tmp_path: Path) -> None:
    """A CPU is plugged after one was unplugged, on which a program was profiled."""
    it = vm(LWP, *flat("test=cpu_unplug cpus=2", "-smp", "2", *Stub.words(tmp_path / "gdb"), STOPPED))
    Stub(tmp_path / "gdb").run_to(symbols()["lwp_touch"])
    assert len(it.do("query-cpus-fast")) == 1
    it.plug()
    it.do("cont")
    assert it.wait() == PASSED


KILLED = """
import os, sys
from pathlib import Path
from lab.common.qmp import Vm
it = Vm(sys.argv[2:], Path(sys.argv[1]))
print(it.child.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_machine_ends_with_us(tmp_path: Path) -> None:
    """However who has started it ends."""
    argv = machine("EPYC", STOPPED)
    ended = run([places.PYTHON, "-B", "-c", KILLED, tmp_path / "log", *argv], cwd=places.TOP)
    assert ended.status == 128 + signal.SIGKILL
    deadline = time.monotonic() + PATIENCE
    while (status := Path(f"/proc/{int(ended.out)}/status")).exists() and "State:\tZ" not in status.read_text():
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.01)


STEPS, INTERVAL = 400, 10


def test_stepi(vm: Start, tmp_path: Path) -> None:
    """Each stepi of a debugger executes an instruction of a profiled program, whatever LWP has to do before it."""
    words = flat(f"test=bench cpus=1 rounds=9 interval={INTERVAL}", *Stub.words(tmp_path / "gdb"), STOPPED)
    it, start = vm(f"{LWP},lwp-delivery=exact", *words), symbols()["bench_profiled"]
    stub = Stub(tmp_path / "gdb")
    stub.run_to(start)
    at, before = [stub.rip()], it.stat("counted-instructions")
    assert at == [start]
    for _ in range(STEPS):
        stub.ask("s")
        at.append(stub.rip())
    stuck = sum(one == other for one, other in zip(at, at[1:]))
    assert not stuck, f"{stuck} of {STEPS} steps have executed nothing"
    assert it.stat("records") + it.stat("missed") >= STEPS // (INTERVAL + 1) - 1
    # Also those after the last record; the first step is LLWPCB, which does not count.
    assert it.stat("counted-instructions") - before == STEPS - 1


@pytest.mark.parametrize("model, status, words", [
    ("EPYC-v2", 0, "EPYC-v2,lwp=on"), ("NoSuch", 1, "no CPU model 'NoSuch'"),
    ("EPYC,+foo", 2, "is not the name of a CPU model"), ("", 2, "is not the name of a CPU model"),
])
def test_models(tmp_path: Path, model: str, status: int, words: str) -> None:
    """lwpctl baseline refuses a model that QEMU does not have, and what is no name of one."""
    host, qemu = tmp_path / "host", f"--qemu={places.qemu()}"
    caps = run([places.LWPCTL, "caps", qemu, "--json"])
    assert caps.status == 0
    host.write_text(caps.out, encoding="utf-8")
    ended = run([places.LWPCTL, "baseline", qemu, f"--model={model}", host])
    assert ended.status == status and words in ended.said
