# SPDX-License-Identifier: GPL-2.0-or-later
"""count-1, the machine that runs the same twice: docs/count-1.md. Its constants are here; a change of one, or of the
guest's init, makes count-2.

Nothing of the host is seen in it: files, command and input are in its RAM when it starts, its only clock is the number
of executed instructions, and what it writes waits until somebody takes it."""

import argparse
import hashlib
import io
import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lab.common import places
from lab.common.options import SEED
from lab.guest import capsule
from lab.guest.vm import host_files

NAME = "count-1"
MACHINE = "pc-q35-10.0"
MEMORY = 2048  # MiB
ICOUNT = "shift=2,sleep=off"  # an instruction takes 4 ns
DATE = "2026-01-01T00:00:00"
FEATURES = (
    "3dnowprefetch abm adx aes apic arat avx avx2 bmi1 bmi2 clflush clflushopt cmov cr8legacy cx16 cx8 de f16c fma "
    "fpu fxsr hypervisor lahf-lm lm mca mce mmx mmxext movbe msr mtrr nx pae pat pclmulqdq pdpe1gb pge pni popcnt pse "
    "pse36 rdtscp sep sha-ni smap smep sse sse2 sse4.1 sse4.2 sse4a ssse3 syscall tsc xgetbv1 xsave xsaveopt pmu "
    "perfctr-core perfmon-v2 amd-lbr-v2 amd-lbr-pmc-freeze lwp lwp-dme"
).split()
CPU = ",".join([
    "base,vendor=AuthenticAMD,family=23,model=1,stepping=2,model-id=count-1,phys-bits=40,level=13,xlevel=0x80000022",
    "lwp-rev=43724,lwp-context=auto,lwp-delivery=exact", *(f"{name}=on" for name in FEATURES),
])
KERNEL_ARGS = (
    "console=ttyS0 loglevel=4 panic=-1 no_timer_check tsc=reliable nowatchdog mitigations=off cryptomgr.notests "
    "initcall_blacklist=jent_mod_init,load_system_certificate_list tsc_early_khz=1000000"
)
FIRMWARE = ("bios-256k.bin", "kvmvapic.bin", "pvh.bin")
# Frames and files of lab/guest/proto.h.
FRAME_ARG, FRAME_ENV, FRAME_CWD, FRAME_SEED, FRAME_GO = b"AECDG"
FRAME_MAX_DATA = 65536
REQUEST = "request/request"
PLACES = {capsule.ROOT: "files", capsule.TOOLS: "request/tools", capsule.INPUT: "request/input"}


@dataclass
class Count1:
    """Such a machine."""

    seed: int = 1
    whole: bool = False  # all of the root is in RAM, not what a first run has used
    file: Path | None = None  # the capsule, once there is one
    translator: str = ""  # more properties of TCG, which change nothing
    watched: tuple[str, ...] = ()  # more of QEMU's words, by which it is looked at

    def __str__(self) -> str:
        files = capsule.hash_of(self.file) if self.file else "none yet"
        return f"{NAME}-local {software()}, seed {self.seed}, files {files}"


def option(text: str) -> Count1:
    """The value of --machine."""
    match = re.fullmatch(rf"{NAME}(?:,seed=(\d{{1,9}}))?(,whole)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not {NAME}[,seed=N][,whole] with N from 0 to {SEED}")
    return Count1(int(match[1] or 1), whole=bool(match[2]))


def software() -> str:
    """The hash of the kernel, its modules, our init, and the firmware, which are of this machine's Debian."""
    tree = places.GUEST / "initramfs"
    files = [places.GUEST / "vmlinux", *sorted(path for path in tree.rglob("*") if path.is_file())]
    digest = hashlib.sha256()
    for path in [*files, *(places.FIRMWARE / name for name in FIRMWARE)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def arguments(run: Path, machine: Count1, root: Path | None = None) -> list[str]:
    """QEMU's; root: of the run that notes which of its files are asked for over 9p, by the host's clock."""
    words = [
        *("-L", str(places.FIRMWARE), "-machine", MACHINE, "-cpu", CPU),
        *("-accel", f"tcg,thread=single{machine.translator}"),
        *("-smp", "1", "-m", str(MEMORY), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-serial", f"file:{run}/console", "-kernel", str(places.GUEST / "vmlinux"), "-initrd", f"{run}/initrd"),
        *("-append", KERNEL_ARGS, "-seed", str(machine.seed), "-rtc", f"base={DATE},clock=vm"),
    ]
    if not root:
        return [*words, "-icount", ICOUNT, *machine.watched]
    return [*words, *host_files(root), "-trace", "v9fs_walk", "-D", f"{run}/walks"]


def _frame(kind: int, data: bytes = b"") -> bytes:
    return kind.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data


def request(seed: int, command: Sequence[str], environment: Mapping[str, str], directory: str) -> bytes:
    """What the guest's init is asked for, as frames of lab/guest/proto.h."""
    variables = [os.fsencode(f"{name}={value}") for name, value in environment.items()]
    return b"".join([
        *(_frame(FRAME_ARG, os.fsencode(word)) for word in command),
        *(_frame(FRAME_ENV, text) for text in variables if len(text) <= FRAME_MAX_DATA),
        _frame(FRAME_CWD, os.fsencode(directory)),
        _frame(FRAME_SEED, hashlib.sha512(f"{NAME} {seed}".encode()).digest()), _frame(FRAME_GO),
    ])


class Initramfs:
    """An archive of cpio's format newc, the same bytes for the same files."""

    def __init__(self, out: IO[bytes]):
        self.out, self.number = out, 0

    def add(self, name: str, mode: int, size: int = 0, data: IO[bytes] = io.BytesIO(), mtime: int = 0) -> None:
        """One file, of root's."""
        self.number += 1
        path = os.fsencode(name) + b"\0"
        numbers = (self.number, mode, 0, 0, 1, mtime, size, 0, 0, 0, 0, len(path), 0)
        self.out.write(b"070701" + b"".join(b"%08X" % number for number in numbers) + path)
        self._pad()
        shutil.copyfileobj(data, self.out)
        self._pad()

    def add_bytes(self, name: str, mode: int, data: bytes) -> None:
        """One file whose content is here."""
        self.add(name, mode, len(data), io.BytesIO(data))

    def _pad(self) -> None:
        self.out.write(bytes(-self.out.tell() % 4))


def initrd(to: Path, asked: bytes, content: capsule.Capsule) -> None:
    """Our init, its modules, what a capsule has, and one request, if there is one."""
    tree = places.GUEST / "initramfs"
    with to.open("wb") as out:
        archive = Initramfs(out)
        for path in sorted(tree.rglob("*")):
            kind = stat.S_IFDIR if path.is_dir() else stat.S_IFREG
            archive.add_bytes(str(path.relative_to(tree)), kind | 0o755, b"" if path.is_dir() else path.read_bytes())
        archive.add("request", stat.S_IFDIR | 0o755)
        if asked:
            archive.add_bytes(REQUEST, stat.S_IFREG | 0o600, asked)
        for info in content.members:
            top, slash, rest = info.name.partition("/")
            name, mtime = PLACES[top] + slash + rest, int(info.mtime)
            if info.isdir():
                archive.add(name, stat.S_IFDIR | info.mode, mtime=mtime)
            elif info.issym():
                archive.add_bytes(name, stat.S_IFLNK | 0o777, os.fsencode(info.linkname))
            else:
                archive.add(name, stat.S_IFREG | info.mode, info.size, content.data(info), mtime)
        archive.add_bytes("TRAILER!!!", 0, b"")
