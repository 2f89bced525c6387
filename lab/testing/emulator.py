# SPDX-License-Identifier: GPL-2.0-or-later
"""What QEMU itself does beside the rows of the flat tests: CPUs that it refuses, what its monitor says, its debugger's
stub, streams that nobody would send. TCG or no accelerator at all; no guest but the flat kernel."""

import json
import re
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lab.common import places, proc
from lab.common.report import Check, Report
from lab.testing import same_code
from lab.testing.part import Case
from lab.testing.suite import PASSED

IMAGE = places.HOST / "guest-tests/flat/flat.elf"
PATIENCE = 60  # seconds
# Without a line for each feature of the model that TCG lacks.
LWP = "EPYC,check=off,lwp=on"
PMU = "EPYC,check=off,pmu=on,+perfctr-core"
# Nothing runs: only what QEMU says of CPUs counts.
STOPPED = ("-S",)
FLAT = ("-kernel", str(IMAGE), "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-m", "64", "-no-reboot")


def command(cpu: str, *words: str, accel: str = "tcg") -> list[str]:
    """A machine with this processor."""
    machine = ["-accel", accel, "-machine", "q35", "-cpu", cpu, "-nodefaults", "-no-user-config", "-display", "none"]
    return [str(places.qemu()), *machine, "-L", str(places.FIRMWARE), *words]


class Monitor:
    """A monitor that QEMU connects to: add `words` to its command line, start it, accept()."""

    def __init__(self, check: Check):
        self.check = check
        path = check.work / "monitor"
        path.unlink(missing_ok=True)
        self.words = ["-chardev", f"socket,id=control,path={path}", "-mon", "chardev=control,mode=control"]
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(1)
        self.server.settimeout(PATIENCE)

    def accept(self) -> None:
        """QEMU has been started."""
        with self.server:
            self.socket = self.server.accept()[0]
        self.socket.settimeout(PATIENCE)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.lines.readline()
        self.do("qmp_capabilities")

    def close(self) -> None:
        """QEMU has ended."""
        self.lines.close()
        self.socket.close()

    def ask(self, name: str, **arguments: object) -> dict[str, Any]:
        """A command's answer: `return` or `error`."""
        self.socket.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while True:
            answer: dict[str, Any] = json.loads(self.lines.readline() or '{"error": {"desc": "QEMU is gone"}}')
            if "event" not in answer:
                return answer

    def do(self, name: str, **arguments: object) -> Any:
        """A command that must succeed."""
        answer = self.ask(name, **arguments)
        self.check.want("return" in answer, f"{name}: {answer.get('error')}")
        return answer["return"]

    def refused(self, name: str, **arguments: object) -> str:
        """Why a command fails; empty if it does not."""
        return str(self.ask(name, **arguments).get("error", {}).get("desc", ""))

    def cpu(self, name: str, index: int = 0) -> Any:
        """A property of a CPU."""
        path = self.do("query-cpus-fast")[index]["qom-path"]
        return self.do("qom-get", path=path, property=name)

    def save(self, path: Path) -> bytes:
        """Its state as a stream, also in a file."""
        self.do("migrate", uri=f"exec:cat > {path}")
        self.migrated()
        return path.read_bytes()

    def migrated(self) -> None:
        """It has been saved, or has loaded its stream."""
        while self.do("query-migrate").get("status") not in ("completed", "failed"):
            pass
        self.check.want(self.do("query-migrate")["status"] == "completed", "the migration has failed")


class Vm(Monitor):
    """A machine with its monitor. It ends with the block."""

    def __init__(self, check: Check, argv: Sequence[str], env: dict[str, str] | None = None):
        super().__init__(check)
        check.log.flush()
        self.child = proc.start(
            [*argv, *self.words], env=env, stdin=subprocess.DEVNULL, stdout=check.log, stderr=subprocess.STDOUT,
        )
        self.accept()

    def __enter__(self) -> "Vm":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """The process ends."""
        proc.end(self.child)
        self.close()


@dataclass(frozen=True)
class Refused:
    """A machine that is refused."""

    name: str
    cpu: str
    words: tuple[str, ...]
    says: str


REFUSED = (
    Refused("lwp-icount", LWP, ("-icount", "shift=0"), "lwp=on cannot be combined with -icount"),
    Refused("pmu-ipc", f"{PMU},pmu-ipc=0", (), "pmu-ipc is 1 to 16"),
    Refused("pmu-predictor", f"{PMU},pmu-predictor=3bit", (), "pmu-predictor is perfect or 2bit, not '3bit'"),
    Refused("pmu-version", f"{PMU},pmu-version=6", (), "pmu-version is at most 5"),
    Refused("pmu-icount", PMU, ("-icount", "shift=0"), "pmu=on cannot be combined with -icount"),
    Refused("int-no-apic", f"{LWP},-apic,lwp-int=on", (), "lwp-int=on needs apic=on"),
    Refused("ibs-cache", f"{PMU},ibs-cache=on", (), "ibs-cache=on needs TCG, pmu=on and ibs=on"),
    Refused("ibs-cache-word", f"{PMU},ibs=on,ibs-cache=on,lwp-cache-ram=3", (),
            "lwp-cache-ram: a data cache has a latency"),
    Refused("cache-word", f"{LWP},lwp-dme=on,lwp-cache-l1d=32K", (),
            "lwp-cache-l1d is SIZE/WAYS/LATENCY as in 32K/8/4, not '32K'"),
    Refused("cache-none", f"{LWP},lwp-dme=on,lwp-cache-l1d=none", (), "lwp-cache-l1d is SIZE/WAYS/LATENCY"),
    Refused("cache-sets", f"{LWP},lwp-dme=on,lwp-cache-l2=96K/8/12", (),
            "lwp-cache-l2: a data cache has a size of its ways"),
    Refused("cache-latency", f"{LWP},lwp-dme=on,lwp-cache-ram=3", (), "lwp-cache-ram: a data cache has a latency"),
    Refused("cache-unused", f"{LWP},lwp-cache-l2=none", (), "lwp-cache-* need lwp-dme=on"),
    Refused("cache-fam15h", f"{LWP},lwp-profile=fam15h,lwp-dme=on", (), "lwp-dme=on needs lwp-max-events=4 or more"),
    Refused("cache-rounding", f"{LWP},lwp-rev=2007,lwp-dme=on,lwp-latency-rounding=1", (),
            "revision 2007 of LWP has none"),
)


def _refused(case: Refused, check: Check) -> None:
    """A combination that cannot be."""
    with_stop = [*command(case.cpu, *case.words), *STOPPED]
    status, text = check.text(["timeout", str(PATIENCE), *with_stop], stderr=True)
    check.want(status == 1, f"QEMU ends with status {status}")
    check.want(case.says in text and text.count("\n") == 1, f"it does not say '{case.says}' in one line")


def _max_icount(check: Check) -> None:
    """-cpu max has what is possible."""
    with Vm(check, [*command("max", "-icount", "shift=0"), *STOPPED]) as machine:
        check.want(not machine.cpu("perfctr-core"), "it has counters")
    with Vm(check, [*command("max"), *STOPPED]) as machine:
        check.want(machine.cpu("perfctr-core"), "without -icount it has none")


# Properties of a second CPU, of a machine whose first has LWP.
UNLIKE: tuple[tuple[str, object], ...] = (
    ("lwp", False), ("lwp-rev", "2007"), ("lwp-context", "os"), ("lwp-max-events", 2), ("lwp-val", False),
    ("lwp-context-age", 7), ("lwp-dme", True),
)


def plug(machine: Monitor, **properties: object) -> str:
    """One more CPU. Result: why it is refused, empty if it is not."""
    free = [slot for slot in machine.do("query-hotpluggable-cpus") if "qom-path" not in slot]
    return machine.refused("device_add", **{"driver": free[0]["type"], "id": "more", **free[0]["props"], **properties})


def _unlike_cpus(check: Check) -> None:
    """Hot plug refuses a CPU with another LWP, a hundred times too, and takes one with the same."""
    with Vm(check, [*command(LWP, "-smp", "1,maxcpus=2"), *STOPPED]) as machine:
        for name, value in UNLIKE:
            said = plug(machine, **{name: value})
            check.want("must be the same for all CPUs" in said, f"{name}: '{said}'")
        for _ in range(100):
            plug(machine, lwp=False)
        check.want(not plug(machine), "one with the same is refused")
        check.want(len(machine.do("query-cpus-fast")) == 2, "it is not there")
        machine.save(check.work / "stream")
    with Vm(check, [*command("EPYC,check=off", "-smp", "1,maxcpus=2"), *STOPPED]) as machine:
        check.want("must be the same for all CPUs" in plug(machine, lwp=True), "LWP beside a CPU without it")


def _level(check: Check) -> None:
    """Without TCG PerfMonV2 does not raise the level of CPUID, as in the version that the patches change."""
    for accel, level in (("qtest", 0x8000001e), ("tcg", 0x80000022)):
        cpu = f"{PMU},+perfmon-v2"
        with Vm(check, [*command(cpu, accel=accel), *STOPPED]) as machine:
            check.want(machine.cpu("xlevel") == level, f"{accel}: {machine.cpu('xlevel'):#x}")


EXPANSIONS = 300
PRELOAD = places.HOST / "lab/testing/libsmall-blocks.so"


def _small_blocks(check: Check, lwp: bool) -> int:
    """How many blocks of malloc are in use behind the expansions of a model, each of which makes a CPU."""
    path = check.work / "blocks"
    env = {"LD_PRELOAD": str(PRELOAD), "SMALL_BLOCKS": str(path)}
    with Vm(check, [*command("EPYC"), *STOPPED], env) as machine:
        for _ in range(EXPANSIONS):
            machine.do("query-cpu-model-expansion", type="full", model={"name": "EPYC", "props": {"lwp": lwp}})
        machine.do("quit")
        check.want(proc.wait(machine.child) == 0, "QEMU does not end")
    return int(path.read_text(encoding="ascii"))


def _expansions(check: Check) -> None:
    """struct lwp_caps is freed with a CPU that is never realized."""
    without, having = _small_blocks(check, False), _small_blocks(check, True)
    check.say(f"{without} blocks without LWP, {having} with it")
    check.want(having - without < EXPANSIONS // 2, f"{EXPANSIONS} expansions keep {having - without} blocks")


class Stub:
    """The debugger's side of a gdb stub."""

    def __init__(self, path: Path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self.rest = b""

    def ask(self, packet: str) -> str:
        """The answer to a packet."""
        self.socket.sendall(f"${packet}#{sum(packet.encode()) % 256:02x}".encode())
        while True:
            found = re.search(rb"\$([^#]*)#..", self.rest)
            if found:
                self.rest = self.rest[found.end():]
                self.socket.sendall(b"+")
                return found[1].decode()
            more = self.socket.recv(65536)
            if not more:
                return ""
            self.rest += more

    def rip(self) -> int:
        """The instruction's address: behind sixteen registers of 8 bytes."""
        return int.from_bytes(bytes.fromhex(self.ask("g")[256:272]), "little")


STEPS = 400
INTERVAL = 10


def _symbol(name: str) -> int:
    found = re.search(rf"^([0-9a-f]+) . {name}$", proc.output(["nm", IMAGE]), re.MULTILINE)
    assert found
    return int(found[1], 16)


def _stepi(check: Check) -> None:
    """Each step of gdb's executes an instruction, whatever LWP has to do before it."""
    stub_at, start = check.work / "gdb", _symbol("bench_profiled")
    words = ["-gdb", f"unix:{stub_at},server=on,wait=off", "-append", f"test=bench cpus=1 rounds=9 interval={INTERVAL}"]
    with Vm(check, [*command(f"{LWP},lwp-delivery=exact", *FLAT, *words), *STOPPED]) as machine:
        stub = Stub(stub_at)
        check.want(stub.ask(f"Z1,{start:x},1") == "OK", "no breakpoint")
        check.want(stub.ask("c").startswith("T05"), "it does not stop")
        check.want(stub.rip() == start, f"it stops at {stub.rip():#x}")
        check.want(stub.ask(f"z1,{start:x},1") == "OK", "no breakpoint")
        last, stuck, before = start, 0, machine.cpu("lwp-stat-counted-instructions")
        for _ in range(STEPS):
            stub.ask("s")
            now = stub.rip()
            stuck += now == last
            last = now
        check.want(not stuck, f"{stuck} of {STEPS} steps have executed nothing")
        records = machine.cpu("lwp-stat-records") + machine.cpu("lwp-stat-missed")
        check.want(records >= STEPS // (INTERVAL + 1) - 1, f"{records} records")
        # Also those after the last record; the first step is LLWPCB, which does not count.
        counted = machine.cpu("lwp-stat-counted-instructions") - before
        check.want(counted == STEPS - 1, f"{counted} instructions are counted in {STEPS} steps")


def _incoming(cpu: str, path: Path, *words: str) -> list[str]:
    return [*command(cpu, *words), "-incoming", f"exec:cat {path}"]


def _pmu_loaded(check: Check) -> None:
    """After a load counters count only if one is enabled."""
    path = check.work / "stream"
    with Vm(check, [*command(PMU), *STOPPED]) as machine:
        check.want(not machine.cpu("x-pmu-counting"), "they count from the start")
        machine.save(path)
    with Vm(check, [*_incoming(PMU, path), *STOPPED]) as machine:
        machine.migrated()
        check.want(not machine.cpu("x-pmu-counting"), "they count after a load")


INTEL = "Skylake-Client,check=off,pmu=on"
INTEL_STATE = b"cpu/msr_architectural_pmu"
# Its fields, numbers of 64 bits: control of the fixed counters, global control, status, overflow control, three fixed
# counters, eighteen counters, eighteen selects.
INTEL_FIELDS = 4 + 3 + 18 + 18
INTEL_CONTROL, INTEL_SELECT = 1, 4 + 3 + 18
INSTRUCTIONS = 1 << 22 | 1 << 17 | 0xC0  # EN, OS


def _pmu_intel(check: Check) -> None:
    """Intel's counters are in QEMU's own subsection, and count after the load of a stream that has them enabled, as a
    KVM host sends it."""
    path, again = check.work / "stream", check.work / "again"
    with Vm(check, [*command(INTEL), *STOPPED]) as machine:
        machine.save(path)
    stream = bytearray(path.read_bytes())
    at = stream.index(INTEL_STATE) + len(INTEL_STATE) + 4  # behind the version
    fields = [int.from_bytes(stream[at + 8 * n:at + 8 * n + 8], "big") for n in range(INTEL_FIELDS)]
    check.want(fields[INTEL_CONTROL] == 15 and not any(fields[INTEL_CONTROL + 1:]), f"at reset: {fields}")
    fields[INTEL_SELECT] = INSTRUCTIONS
    stream[at:at + 8 * INTEL_FIELDS] = b"".join(field.to_bytes(8, "big") for field in fields)
    path.write_bytes(stream)
    with Vm(check, [*_incoming(INTEL, path), *STOPPED]) as machine:
        machine.migrated()
        check.want(machine.cpu("x-pmu-counting"), "they do not count after the load")
        machine.save(again)
    saved = again.read_bytes()
    at = saved.index(INTEL_STATE) + len(INTEL_STATE) + 4
    found = [int.from_bytes(saved[at + 8 * n:at + 8 * n + 8], "big") for n in range(INTEL_FIELDS)]
    check.want(found == fields, f"saved again: {found}")


def _section(stream: bytes, name: bytes) -> tuple[int, int]:
    """Where a section of a stream begins and ends: type 4, its number, its name; footer 7Eh and its number."""
    at = stream.index(bytes([len(name)]) + name)
    begin = at - 5
    return begin, stream.index(b"\x7e" + stream[at - 4:at], at) + 5


def _ends(check: Check, cpu: str, path: Path, *words: str) -> int:
    return check.call(["timeout", str(PATIENCE), *_incoming(cpu, path, *words)])


REGISTERS = 18 * 8  # of a CPU's section, before hflags: sixteen, rIP, RFLAGS
CPU_SECTION = b"cpu"


def _flat_words(rounds: int) -> list[str]:
    return [*FLAT, "-append", f"test=bench cpus=1 rounds={rounds} interval=100"]


def _saved(check: Check, path: Path) -> bytes:
    """The bench, saved while its program is profiled."""
    with Vm(check, command(LWP, *_flat_words(3000))) as machine:
        while not machine.cpu("lwp-stat-records"):
            pass
        return machine.save(path)


def _hostile_flags(check: Check) -> None:
    """Bits of hflags that only TB flags have are not taken from a stream."""
    path = check.work / "stream"
    stream = bytearray(_saved(check, path))
    at = _section(bytes(stream), CPU_SECTION)[0] + 6 + len(CPU_SECTION) + 8 + REGISTERS
    check.want(stream[at] & 0xe0 == 0, "hflags are not where they should be")
    stream[at] |= 0xe0
    path.write_bytes(stream)
    status = _ends(check, LWP, path, *_flat_words(3000))
    check.want(status == PASSED, f"the guest ends with status {status}")


def _hostile_contexts(check: Check) -> None:
    """Contexts that come once more, behind a CPU that has one of them, are refused."""
    path = check.work / "stream"
    stream = _saved(check, path)
    begin, end = _section(stream, b"x86-lwp-contexts")
    behind = _section(stream, CPU_SECTION)[1]
    check.want(end < behind, "the contexts do not come first")
    path.write_bytes(stream[:behind] + stream[begin:end] + stream[behind:])
    status, text = check.text(["timeout", str(PATIENCE), *_incoming(LWP, path, *_flat_words(3000))], stderr=True)
    check.want("contexts come after a CPU that has one" in text, f"status {status}")


def _enums(check: Check) -> None:
    """lwp-rev and its like have types of their own, and refuse what is not in them."""
    with Vm(check, [*command(LWP), *STOPPED]) as machine:
        path = machine.do("query-cpus-fast")[0]["qom-path"]
        types = {entry["name"]: entry["type"] for entry in machine.do("qom-list", path=path)}
        for name, kind in ENUMS:
            check.want(types.get(name) == kind, f"{name} is of type {types.get(name)}")
    for name, _ in ENUMS:
        argv = [*command(f"{LWP},{name}=strange"), *STOPPED]
        status, text = check.text(["timeout", str(PATIENCE), *argv], stderr=True)
        says = f"Parameter '{name}' does not accept value 'strange'"
        check.want(status == 1 and says in text and text.count("\n") == 1, f"it does not say {says}: {text}")


ENUMS = (
    ("lwp-rev", "X86LwpRevision"), ("lwp-context", "X86LwpContext"), ("lwp-profile", "X86LwpProfile"),
    ("lwp-delivery", "X86LwpDelivery"),
)


def _stats(machine: Vm, target: str, *names: str) -> dict[str, int]:
    wanted: dict[str, object] = {"provider": "lwp", **({"names": list(names)} if names else {})}
    found = machine.do("query-stats", target=target, providers=[wanted])
    return {entry["name"]: entry["value"] for part in found for entry in part["stats"]}


def _query_stats(check: Check) -> None:
    """query-stats says what the properties of the CPU say."""
    with Vm(check, command(LWP, *_flat_words(3000))) as machine:
        while not machine.cpu("lwp-stat-records"):
            pass
        machine.do("stop")
        records, created = machine.cpu("lwp-stat-records"), machine.cpu("lwp-stat-contexts-created")
        check.want(_stats(machine, "vcpu").get("records") == records, f"not {records} records")
        check.want(_stats(machine, "vm").get("contexts-created") == created > 0, f"not {created} contexts")
        check.want(list(_stats(machine, "vcpu", "missed")) == ["missed"], "a name does not choose")
        schemas = {part["target"]: part["stats"] for part in machine.do("query-stats-schemas", provider="lwp")}
        for target in ("vcpu", "vm"):
            known = {entry["name"] for entry in schemas[target]}
            check.want(known == set(_stats(machine, target)), f"the schema of {target} has {known}")
    with Vm(check, [*command("EPYC,check=off"), *STOPPED]) as machine:
        check.want(not machine.do("query-stats", target="vcpu"), "a machine without LWP has statistics of it")


def _unavailable(check: Check) -> None:
    """What LWP takes away from a CPU is among what it lacks, so that enforce refuses it. Counters without pmu=on go
    without a word: libvirt's host-model names what -cpu max has."""
    for cpu, lacks in ((LWP, True), (f"{LWP},lwp-context=os", False), ("EPYC,check=off", False)):
        with Vm(check, [*command(cpu), *STOPPED]) as machine:
            check.want(("fsgsbase" in machine.cpu("unavailable-features")) == lacks, f"{cpu}: fsgsbase")
            check.want(machine.cpu("fsgsbase") != lacks, f"{cpu}: fsgsbase")
    for cpu, has in (("EPYC,check=off,+perfctr-core", False), (PMU, True)):
        with Vm(check, [*command(cpu), *STOPPED]) as machine:
            check.want("perfctr-core" not in machine.cpu("unavailable-features"), f"{cpu}: unavailable")
            check.want(machine.cpu("perfctr-core") == has, f"{cpu}: perfctr-core")


def _never_default(check: Check) -> None:
    """No model has LWP or counters unless it is asked for, on the oldest machine and on the newest. So machine types
    need no compatibility properties for them."""
    with Vm(check, [*command("EPYC"), *STOPPED]) as machine:
        names = sorted(entry["name"] for entry in machine.do("query-machines") if entry["name"].startswith("pc-q35-"))
        models = [entry["name"] for entry in machine.do("query-cpu-definitions") if entry["name"] not in SPECIAL]
    version = re.compile(r"[0-9]+")
    names.sort(key=lambda name: [int(number) for number in version.findall(name)])
    check.want(len(names) > 1 and len(models) > 50, f"{len(names)} machines, {len(models)} models")
    for name in (names[0], names[-1]):
        argv = [name if word == "q35" else word for word in command("EPYC")]
        with Vm(check, [*argv, *STOPPED]) as machine:
            for model in models:
                found = machine.do("query-cpu-model-expansion", type="full", model={"name": model})
                props = found["model"]["props"]
                for feature in ("lwp", "pmu", "perfctr-core", "perfmon-v2"):
                    check.want(not props.get(feature), f"{name}, {model}: {feature}")


SPECIAL = ("host", "max", "base")  # max has what is possible, but LWP


def _failed_realize(check: Check) -> None:
    """A CPU that is refused late is forgotten: it is in no list, and its place is free."""
    with Vm(check, [*command(LWP, "-smp", "1,maxcpus=2"), *STOPPED]) as machine:
        for _ in range(20):
            said = plug(machine, **{"phys-bits": 99})
            check.want("phys-bits should be between" in said, f"'{said}'")
            check.want(len(machine.do("query-cpus-fast")) == 1, "it is there")
        check.want(not plug(machine), "there is no place for another")
        check.want(len(machine.do("query-cpus-fast")) == 2, "it is not there")
        machine.save(check.work / "stream")


def _plug_profiled(check: Check) -> None:
    """CPUs come while a program is profiled, which loses nothing."""
    with Vm(check, command(LWP, *_flat_words(9000), "-smp", "1,maxcpus=4")) as machine:
        for _ in range(3):
            before = machine.cpu("lwp-stat-records")
            check.want(not plug(machine, id=f"more{before}"), "a CPU is refused")
            while machine.cpu("lwp-stat-records") == before:
                check.want(machine.child.poll() is None, "the program has ended too soon")
        check.want(len(machine.do("query-cpus-fast")) == 4, "they are not there")
        check.want(proc.wait(machine.child) == PASSED, "the guest's test has failed")


def _replugged(check: Check) -> None:
    """A CPU is plugged after one was unplugged, on which a program was profiled."""
    stub_at, behind = check.work / "gdb", _symbol("lwp_touch")
    stub_at.unlink(missing_ok=True)
    words = [*FLAT, "-smp", "2", "-append", "test=cpu_unplug cpus=2", "-gdb", f"unix:{stub_at},server=on,wait=off"]
    with Vm(check, [*command(LWP, *words), *STOPPED]) as machine:
        stub = Stub(stub_at)
        check.want(stub.ask(f"Z1,{behind:x},1") == "OK" and stub.ask("c").startswith("T05"), "it does not stop")
        check.want(stub.ask(f"z1,{behind:x},1") == "OK", "no breakpoint")
        check.want(len(machine.do("query-cpus-fast")) == 1, "the CPU has not gone")
        check.want(not plug(machine), "there is no place for another")
        machine.do("cont")
        check.want(proc.wait(machine.child) == PASSED, "the guest's test has failed")


def _models(check: Check) -> None:
    """lwpctl baseline refuses a model that QEMU does not have, and what is no name of one."""
    host = check.work / "host"
    status, text = check.text([places.LWPCTL, "caps", f"--qemu={places.qemu()}", "--json"])
    host.write_text(text, encoding="utf-8")
    check.want(status == 0, f"caps ends with status {status}")
    for model, wanted, words in (
        ("EPYC-v2", 0, "EPYC-v2,lwp=on"), ("NoSuch", 1, "has no CPU model 'NoSuch'"),
        ("EPYC,+foo", 2, "is not the name of a CPU model"), ("", 2, "is not the name of a CPU model"),
    ):
        command: list[str | Path] = [places.LWPCTL, "baseline", f"--qemu={places.qemu()}", f"--model={model}", host]
        status, text = check.text(command, stderr=True)
        check.want(status == wanted and words in text, f"{model}: status {status}, {text!r}")


CHECKS: tuple[tuple[str, str, Callable[[Check], None]], ...] = (
    *((f"qemu-{case.name}", f"QEMU refuses: {case.says}", partial(_refused, case)) for case in REFUSED),
    ("qemu-max-icount", "-cpu max goes with -icount, without counters", _max_icount),
    ("qemu-unlike-cpus", "QEMU refuses a CPU whose LWP is not that of the others, and can be saved then", _unlike_cpus),
    ("qemu-level", "PerfMonV2 raises the level of CPUID for TCG only", _level),
    ("qemu-expansions", "query-cpu-model-expansion with lwp=on keeps no memory", _expansions),
    ("qemu-same-code", "without LWP translated code is that of unpatched QEMU", same_code.same_code),
    ("qemu-models", "lwpctl baseline refuses a CPU model that QEMU does not have", _models),
    ("qemu-stepi", "each stepi of a debugger executes an instruction of a profiled program", _stepi),
    ("qemu-pmu-loaded", "after a load no counter counts that is not enabled", _pmu_loaded),
    ("qemu-pmu-intel", "Intel's counters are in the stream as a KVM host sends them", _pmu_intel),
    ("qemu-hostile-flags", "a stream cannot set flags of translated code", _hostile_flags),
    ("qemu-hostile-contexts", "a stream cannot take away a context that is live", _hostile_contexts),
    ("qemu-enums", "properties that are enumerations have types, and refuse other words", _enums),
    ("qemu-query-stats", "query-stats has the statistics of LWP", _query_stats),
    ("qemu-unavailable", "features that are taken away are unavailable features", _unavailable),
    ("qemu-never-default", "no model of any machine type has LWP or counters by default", _never_default),
    ("qemu-failed-realize", "a CPU whose realize fails late is forgotten", _failed_realize),
    ("qemu-replug", "a CPU is plugged after one was unplugged", _replugged),
    ("qemu-plug-profiled", "CPUs are plugged while a program is profiled", _plug_profiled),
)


def _run(line: str, do: Callable[[Check], None]) -> Callable[[Report], object]:
    return lambda report: report.check(line, do)


def cases() -> list[Case]:
    """A case for each check."""
    return [Case(name, line, _run(line, do)) for name, line, do in CHECKS]
