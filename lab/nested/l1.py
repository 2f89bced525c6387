# SPDX-License-Identifier: GPL-2.0-or-later
"""L1 of the nested lab: QEMU in TCG is an AMD machine without LWP (L0) in which the stock kernel runs with our
kvm.ko and kvm-amd.ko (L1). What L1 runs may use /dev/kvm. docs/design.md#the-lab"""

import shlex
import shutil
import subprocess
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.building import kernel, linux, qemu, tools
from lab.common import bases, places, proc
from lab.common.say import SKIPPED, Died, Skip
from lab.guest import vm

IN_L1 = places.LAB / "nested/in-l1.sh"


@dataclass
class L1:
    """The machine and what KVM is there."""

    smp: int = 1
    memory: int = 1024  # MiB
    cpu: str = "EPYC"
    kvm_amd: str = ""  # parameters of kvm-amd
    stock: bool = False  # the kernel's own modules instead of ours
    flavour: str = "vlwp"  # of QEMU, for L0
    linux: str = ""  # the base of its kernel, if not the chosen one
    modules: Path | None = None  # the folder of our modules, if not those of that base
    kernel_dir: Path | None = None  # vmlinux and initramfs.cpio of a kernel that has KVM built in
    kernel_args: str = ""  # more of them
    limit: float | None = None  # seconds after which it is given up
    devices: list[str] = field(default_factory=list)  # more arguments of L0's QEMU


def prepare() -> None:
    """Build what the lab needs, if it is out of date."""
    tools.build()
    kernel.build()
    linux.build()
    qemu.ensure()


def prepare_kernel(series: str) -> None:
    """Build KVM's modules for the kernel of another base, and what boots it."""
    status = proc.call([places.TOP / "vlwp", "build", "kvm", f"--base=linux-{series}"])
    if status:
        raise (Skip if status == SKIPPED else Died)(f"there is no KVM for Linux {series}: './vlwp build kvm' says why")


def modules_of(lab: L1) -> str:
    """The modules, as in-l1.sh wants them."""
    ours = lab.modules or places.BUILD / bases.of_linux("kvm", lab.linux)
    return "none" if lab.kernel_dir else "stock" if lab.stock else str(ours)


def command_line(lab: L1, run: Path, command: Sequence[proc.Word]) -> list[str]:
    """The command line that runs a command in L1; run is a private directory with share/."""
    return _in_l1(lab, run, [modules_of(lab), lab.kvm_amd, *proc.words(command)])


def _in_l1(lab: L1, run: Path, words: list[str]) -> list[str]:
    """in-l1.sh with these words in L1."""
    emulator = [
        str(places.qemu() if lab.flavour == "vlwp" else qemu.out_dir(lab.flavour) / places.qemu_base().name),
        *vm.common_arguments(run, lab.smp, lab.memory, lab.kernel_dir or places.guest_of(lab.linux)),
        *("-accel", "tcg,thread=multi", "-cpu", f"{lab.cpu},-lwp"),
        *("-append", f"{vm.kernel_args()} {lab.kernel_args}".strip()),
        *lab.devices,
    ]
    return vm.vmrun(run, emulator, [str(IN_L1), *words], linux=lab.linux)


def shown(lab: L1, command: Sequence[proc.Word]) -> str:
    """The same for a user's shell. It names the kernel, which has to be there."""
    run = Path("/tmp/vlwp-l1")
    try:
        line = shlex.join(command_line(lab, run, command))
    except Died:
        return "# ./vlwp build guest comes first: the command line has the version of its kernel"
    return f"mkdir -p {run}/share && VLWP_SHARE={vm.GUEST_SHARE} {line}"


def start(lab: L1, run: Path, command: Sequence[proc.Word], **options: Any) -> "subprocess.Popen[Any]":
    """Start a command in L1, without a limit. Options are those of subprocess.Popen."""
    (run / "share").mkdir(parents=True, exist_ok=True)
    return proc.start(command_line(lab, run, command), env={"VLWP_SHARE": vm.GUEST_SHARE}, as_user=True, **options)


def boot(lab: L1, run: Path, command: Sequence[proc.Word], **stdio: Any) -> int:
    """Run a command in L1. Result: its exit status, 124 when it did not end within the limit."""
    if lab.flavour != "vlwp":
        qemu.build(lab.flavour)
    (run / "share").mkdir(parents=True, exist_ok=True)
    line = command_line(lab, run, command)
    return proc.call(line, env={"VLWP_SHARE": vm.GUEST_SHARE}, as_user=True, limit=lab.limit, **stdio)


def boot_logged(lab: L1, run: Path, command: Sequence[proc.Word]) -> int:
    """The same without input, with its output in run/log."""
    run.mkdir(parents=True, exist_ok=True)
    with (run / "log").open("wb") as log:
        return boot(lab, run, command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


class Session:
    """An L1 that is kept running: one command after the other, with the modules and parameters that each wants."""

    def __init__(self, lab: L1, run: Path):
        """run: a private directory."""
        if lab.flavour != "vlwp":
            qemu.build(lab.flavour)
        self.lab, self.run, self.number = lab, run, 0
        (run / "share").mkdir(parents=True)
        with (run / "log").open("wb") as log:
            self.child = proc.start(
                _in_l1(lab, run, ["serve"]), env={"VLWP_SHARE": vm.GUEST_SHARE}, as_user=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )

    def fits(self, lab: L1) -> bool:
        """Is this the machine, and is it there?"""
        return self.child.poll() is None and _machine(lab) == _machine(self.lab)

    def do(self, lab: L1, place: Path, command: Sequence[proc.Word]) -> int:
        """boot_logged() without a boot: a command with the modules and the limit of lab; its output is place/log, its
        files are in place/share. Result: its exit status, 124 if the limit, or the machine, has ended it."""
        assert self.child.stdin and self.child.stdout
        self.number += 1
        share = self.run / "share" / str(self.number)
        share.mkdir()
        script = share / "command"
        script.write_text(f"#!/bin/bash\nexec {proc.quoted(command)}\n", encoding="utf-8")
        script.chmod(0o755)
        alarm = threading.Timer(lab.limit or threading.TIMEOUT_MAX, self.end)
        alarm.daemon = True
        alarm.start()
        try:
            print(self.number, modules_of(lab), lab.kvm_amd, file=self.child.stdin, flush=True)
            words = self.child.stdout.readline().split()
        except BrokenPipeError:
            words = []
        alarm.cancel()
        place.mkdir(parents=True, exist_ok=True)
        share.rename(place / "share")
        log = place / "share/log"
        log.rename(place / "log") if log.exists() else shutil.copy(self.run / "log", place / "log")
        return int(words[2]) if words[:2] == ["ended", str(self.number)] else 124

    def end(self) -> None:
        """The machine ends."""
        proc.end(self.child)


def _machine(lab: L1) -> tuple[object, ...]:
    """What a boot decides."""
    return lab.smp, lab.memory, lab.cpu, lab.flavour, lab.linux, lab.kernel_dir, lab.kernel_args, tuple(lab.devices)


def group_of(lab: L1) -> str:
    """Tests of one group can share a session."""
    return f"l1-{zlib.crc32(repr(_machine(lab)).encode()):08x}"
