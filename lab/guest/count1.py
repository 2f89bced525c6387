# SPDX-License-Identifier: GPL-2.0-or-later
"""count-1, the machine that runs the same twice: docs/count-1.md. Its constants are here; a change of one, or of the
guest's init, makes count-2.

Nothing of the host is seen in it: files, command and input are in its RAM when it starts, its only clock is the number
of executed instructions, and what it writes waits until somebody takes it."""

import argparse
import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from lab.common import places
from lab.common.options import SEED
from lab.guest import capsule
from lab.guest.vm import host_files

NAME = "count-1"
MACHINE = "pc-q35-10.0"
MEMORY = 2048  # MiB: up to 2 GiB. From 4 GiB on lie two regions that Linux takes for persistent memory, with
FILES, REQUEST = 896, 384  # the program's files, and what the guest is asked for: MiB, in units of 128
ICOUNT = "shift=0,sleep=off"  # an instruction takes 1 ns
DATE = "2026-01-01T00:00:00"
FEATURES = (
    "3dnowprefetch abm adx aes apic arat avx avx2 bmi1 bmi2 clflush clflushopt cmov cr8legacy cx16 cx8 de f16c fma "
    "fpu fxsr hypervisor lahf-lm lm mca mce mmx mmxext movbe msr mtrr nx pae pat pclmulqdq pdpe1gb pge pni popcnt pse "
    "pse36 rdtscp sep sha-ni smap smep sse sse2 sse4.1 sse4.2 sse4a ssse3 syscall tsc xgetbv1 xsave xsaveopt pmu "
    "perfctr-core perfmon-v2 amd-lbr-v2 amd-lbr-pmc-freeze ibs ibs-cache lwp lwp-dme"
).split()
CPU = ",".join([
    "base,vendor=AuthenticAMD,family=23,model=1,stepping=2,model-id=count-1,phys-bits=40,level=13,xlevel=0x80000022",
    "lwp-rev=43724,lwp-context=auto,lwp-delivery=exact", *(f"{name}=on" for name in FEATURES),
])
KERNEL_ARGS = (
    "console=ttyS0 loglevel=4 panic=-1 no_timer_check tsc=reliable nowatchdog mitigations=off cryptomgr.notests "
    "initcall_blacklist=jent_mod_init,load_system_certificate_list tsc_early_khz=1000000"
)
FROZEN_ARGS = (
    f"{KERNEL_ARGS} numa=off memmap={FILES}M!4096M memmap={REQUEST}M!{4096 + FILES}M -- {NAME}"
)
TREE = "count-1"  # beside the kernel: what its initramfs has
ENVIRONMENT = {
    "HOME": "/root", "LANG": "C.UTF-8", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
FIRMWARE = ("bios-256k.bin", "kvmvapic.bin", "pvh.bin")
# Frames and files of lab/guest/proto.h.
FRAME_ARG, FRAME_ENV, FRAME_CWD, FRAME_SEED, FRAME_COUNT, FRAME_GO = b"AECDNG"
FRAME_MAX_DATA = 65536


@dataclass(frozen=True)
class Program:
    """What the machine is given."""

    head: capsule.Head
    given: Path | None  # the standard input
    image: Path  # of its files
    hash: str  # of the image


@dataclass
class Count1:
    """Such a machine."""

    seed: int = 1
    whole: bool = False  # all of the root is in RAM, not what a first run has used
    file: Path | None = None  # the capsule, if there is one
    program: Program | None = None  # what it runs, once that is known
    variables: dict[str, str] = field(default_factory=dict)  # that the program gets besides
    memory: Path | None = None  # a file for its memory, which others look at
    debugger: str = ""  # a device for one, for which it waits
    emulator: Path | None = None  # in QEMU's place, once there is the snapshot
    name: str = ""  # with all that a number depends on, once it has run
    translator: str = ""  # more properties of TCG, which change nothing
    watched: tuple[str, ...] = ()  # more of QEMU's words, by which it is looked at
    replay: str = ""  # more properties of -icount
    state: Path | None = None  # in place of the snapshot's

    def __str__(self) -> str:
        return self.name


def option(text: str) -> Count1:
    """The value of --machine."""
    match = re.fullmatch(rf"{NAME}(?:,seed=(\d{{1,9}}))?(,whole)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not {NAME}[,seed=N][,whole] with N from 0 to {SEED}")
    return Count1(int(match[1] or 1), whole=bool(match[2]))


def _machine(run: Path, translator: str) -> list[str]:
    return [
        *("-L", str(places.FIRMWARE), "-machine", MACHINE, "-cpu", CPU, "-accel", f"tcg,thread=single{translator}"),
        *("-smp", "1", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-serial", f"file:{run}/console", "-seed", "1", "-rtc", f"base={DATE},clock=vm"),
    ]


def booted(run: Path, root: Path) -> list[str]:
    """QEMU's arguments for a guest with this processor that boots, and sees a directory over 9p, by the host's clock.
    It notes which files it is asked for."""
    kernel = ["-kernel", str(places.GUEST / "vmlinux"), "-initrd", f"{run}/initrd", "-append", KERNEL_ARGS]
    noted = ["-trace", "v9fs_walk", "-trace", "v9fs_readdir", "-D", f"{run}/walks"]
    return [*_machine(run, ""), "-m", str(MEMORY), *kernel, *host_files(root), *noted]


def frozen(run: Path, memory: str, files: Path, request: Path, machine: "Count1") -> list[str]:
    """QEMU's arguments for the machine itself; memory: more properties of the file that is its memory."""
    words = _machine(run, machine.translator)
    parts = (
        ("ram", MEMORY, memory), ("files", FILES, f"{files},share=on,readonly=on"),
        ("request", REQUEST, f"{request},share=on,readonly=on"),
    )
    for name, size, where in parts:
        words += ["-object", f"memory-backend-file,id={name},size={size}M,mem-path={where}"]
        words += ["-numa", f"node,memdev={name}"]
    words += ["-m", f"{MEMORY + FILES + REQUEST}M", "-icount", ICOUNT + machine.replay, "-device", "pvpanic"]
    return [*words, *machine.watched]


def _frame(kind: int, data: bytes = b"") -> bytes:
    return kind.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data


def request(
    seed: int, command: Sequence[str], environment: Mapping[str, str], directory: str, events: Sequence[str]
) -> bytes:
    """What the guest's init is asked for, as frames of lab/guest/proto.h."""
    variables = [os.fsencode(f"{name}={value}") for name, value in environment.items()]
    return b"".join([
        *(_frame(FRAME_ARG, os.fsencode(word)) for word in command),
        *(_frame(FRAME_ENV, text) for text in variables if len(text) <= FRAME_MAX_DATA),
        _frame(FRAME_CWD, os.fsencode(directory)),
        *([_frame(FRAME_COUNT, ",".join(events).encode())] if events else []),
        _frame(FRAME_SEED, hashlib.sha512(f"{NAME} {seed}".encode()).digest()), _frame(FRAME_GO),
    ])


class Initramfs:
    """An archive of cpio's format newc, the same bytes for the same files."""

    def __init__(self, out: IO[bytes]):
        self.out, self.number = out, 0

    def add(self, name: str, mode: int, data: bytes) -> None:
        """One file, of root's."""
        self.number += 1
        path = os.fsencode(name) + b"\0"
        numbers = (self.number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        for part in (b"070701" + b"".join(b"%08X" % number for number in numbers) + path, data):
            self.out.write(part)
            self.out.write(bytes(-self.out.tell() % 4))


def initrd(to: Path, *trees: Path) -> None:
    """An initramfs of what folders have."""
    with to.open("wb") as out:
        archive = Initramfs(out)
        for tree in trees:
            for path in sorted(tree.rglob("*")):
                kind = stat.S_IFDIR if path.is_dir() else stat.S_IFREG
                archive.add(str(path.relative_to(tree)), kind | 0o755, b"" if path.is_dir() else path.read_bytes())
        archive.add("TRAILER!!!", 0, b"")
