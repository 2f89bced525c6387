# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of kvm/tests on a kernel with KASAN, UBSAN, lockdep and PROVE_RCU, with KVM as our series makes it built
in: no splat."""

import argparse
import shutil
from pathlib import Path
from typing import IO

from lab.building import kernel, linux
from lab.common import proc
from lab.common.places import BUILD, HOST, LAB, TOP
from lab.common.report import Check, Report
from lab.common.say import Died
from lab.common.steps import build_lock, compiler, jobs_count, make_dir, need_space, step
from lab.guest.vm import run_directory
from lab.nested import l1, programs
from lab.nested.l1 import L1
from lab.nested.programs import Run
from lab.start import deps

WORK = BUILD / "kvm-debug"
SOURCE, OUT = WORK / "source", WORK / "out"
CONFIG = LAB / "soaks/kvm-debug.config"
WANTED = "KASAN UBSAN PROVE_LOCKING PROVE_RCU KVM KVM_AMD 9P_FS OVERLAY_FS VIRTIO_CONSOLE".split()


def add_options(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def _run(log: IO[str], *argv: proc.Word, **options: object) -> None:
    status = proc.logged(argv, log, **options)
    if status:
        raise Died(f"{argv[0]} ends with status {status}")


def _lay_out(whole: Path, log: IO[str]) -> None:
    """The whole source with the exported series in it; what stays the same is compiled once."""
    for old in (SOURCE, WORK / "series"):
        shutil.rmtree(old, ignore_errors=True)
    _run(log, TOP / "vlwp", "export", WORK / "series")
    _run(log, "cp", "-al", whole, SOURCE)
    for patch in sorted((WORK / "series/linux").glob("*.patch")):
        if patch.name.startswith("0000-"):
            continue
        with patch.open("rb") as text:
            options = ("-p1", "--fuzz=0", "--force", "-s", "--no-backup-if-mismatch")
            _run(log, "patch", "-d", SOURCE, *options, stdin=text)


def _make(*words: str) -> list[str]:
    return ["make", "-C", str(SOURCE), f"O={OUT}", *words]


def _configure(log: IO[str]) -> None:
    config = OUT / ".config"
    _run(log, *_make("tinyconfig"))
    _run(log, SOURCE / "scripts/kconfig/merge_config.sh", "-m", "-O", OUT, config, CONFIG)
    _run(log, *_make("olddefconfig"))
    lines = config.read_text(encoding="utf-8").splitlines()
    for option in WANTED:
        if f"CONFIG_{option}=y" not in lines:
            raise Died(f"CONFIG_{option} is not set")


def _pack(log: IO[str]) -> None:
    """The guest's init, and no module to load. The kernel starts by the way of the boot loaders: with KASAN the
    other, PVH, calls memcmp() before there is shadow memory."""
    tree = WORK / "initramfs"
    make_dir(tree / "modules")
    (tree / "modules/order").write_text("", encoding="utf-8")
    shutil.copy2(HOST / "lab/guest/guest-init", tree / "init")
    shutil.copy2(OUT / "arch/x86/boot/bzImage", WORK / "vmlinux")
    kernel.pack(tree, WORK / "initramfs.cpio", log)


def _build() -> None:
    """The kernel and its initramfs."""
    need_space(6000)
    base = linux.fetch()
    whole = linux.fetch_all(base)
    make_dir(WORK)
    title = f"laying out Linux {base.version} with the series"
    step(title, "kvm-debug-source", lambda log: _lay_out(whole, log))
    step("configuring the kernel", "kvm-debug-configure", _configure)
    compile_it = _make(f"CC={compiler()}", "-j", str(jobs_count()), "bzImage")
    step("compiling the kernel", "kvm-debug-compile", compile_it)
    step("packing its initramfs", "kvm-debug-pack", _pack)


def _lab(run: Run) -> L1:
    """The machine of a run, with kvm-amd's parameters on the kernel's command line."""
    parameters = " ".join(f"kvm_amd.{word}" for word in run.kvm_amd.split())
    return L1(smp=2, memory=4096, cpu=run.cpu, kernel_dir=WORK, kernel_args=parameters)


def _passes(check: Check, run: Run) -> None:
    """The script that starts it in L1 looks for splats."""
    place = check.work / run.directory
    status = l1.boot_logged(_lab(run), place, run.command())
    check.say((place / "log").read_text(encoding="utf-8", errors="replace"))
    check.want(status == 0, f"it ends with status {status}")


def main(_args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    l1.prepare()
    with build_lock("kvm-debug"), run_directory() as work:
        _build()
        report = Report(work)
        for run in programs.runs():
            if run.single and run.result == "tap":
                report.check(f"{run.program}: all pass, no splat", _passes, run)
        return report.end()
