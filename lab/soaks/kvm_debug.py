# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of kvm/tests on kernels that look for mistakes, with KVM as our series makes it built in: no splat. One has
KASAN, UBSAN, lockdep and PROVE_RCU, one is PREEMPT_RT and tells who sleeps where that is forbidden, and one has
KCSAN."""

import argparse
import filecmp
import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from lab.building import kernel, linux
from lab.common import proc
from lab.common.places import BUILD, HOST, LAB, TOP
from lab.common.report import Check, Report
from lab.common.say import Died, Usage
from lab.common.steps import build_lock, compiler, jobs_count, make_dir, need_space, step
from lab.guest.vm import run_directory
from lab.nested import l1, programs
from lab.nested.l1 import L1
from lab.nested.programs import Run
from lab.start import deps

WORK = BUILD / "kvm-debug"
SOURCE = WORK / "source"
CONFIG = LAB / "soaks/kvm-debug.config"
DATED = re.compile(rb"^(From|Date:) .*$", re.MULTILINE)  # lines that are new in each export
TOUCHED = re.compile(r"^\+\+\+ b/(.*)$", re.MULTILINE)
# What Debian's source has besides the series.
CHANGES = [LAB / "soaks/kvm-debug-tsc.patch", LAB / "soaks/kvm-debug-avic.patch"]
# Of all kernels: what L1 needs and what is tested.
WANTED = "PROVE_LOCKING DEBUG_ATOMIC_SLEEP KVM_AMD_LWP KVM_AMD_LWP_FAKE 9P_FS OVERLAY_FS VIRTIO_CONSOLE".split()


@dataclass(frozen=True)
class Kernel:
    """A kernel to build: NAME, what CONFIG-NAME adds to CONFIG, and options that must then be set."""

    name: str
    about: str
    wanted: tuple[str, ...]

    @property
    def work(self) -> Path:
        """Its own folder: vmlinux and initramfs.cpio as l1 wants them."""
        return WORK / self.name

    @property
    def out(self) -> Path:
        """Where it is compiled."""
        return self.work / "out"

    @property
    def configs(self) -> tuple[Path, Path]:
        """The fragments over tinyconfig."""
        return CONFIG, CONFIG.with_name(f"kvm-debug-{self.name}.config")

    def make(self, *words: str) -> list[str]:
        """A command of Kbuild's."""
        return ["make", "-C", str(SOURCE), f"O={self.out}", *words]


KERNELS = {
    kernel_.name: kernel_
    for kernel_ in (
        Kernel("kasan", "KASAN, UBSAN, lockdep and PROVE_RCU", ("KASAN", "UBSAN", "PROVE_RCU")),
        Kernel("rt", "PREEMPT_RT, lockdep and DEBUG_ATOMIC_SLEEP", ("PREEMPT_RT", "PROVE_RAW_LOCK_NESTING")),
        Kernel("kcsan", "KCSAN: data races", ("KCSAN",)),
    )
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    names = ", ".join(f"{kernel_.name} ({kernel_.about})" for kernel_ in KERNELS.values())
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=f"which kernels, default all: {names}")
    parser.add_argument("--only", metavar="TEXT", default="", help="only programs whose names contain TEXT")


def _run(log: IO[str], *argv: proc.Word, **options: object) -> None:
    status = proc.logged(argv, log, **options)
    if status:
        raise Died(f"{argv[0]} ends with status {status}")


def _patches() -> list[Path]:
    """What the source has besides Debian's: the series without its notes, and our changes."""
    series = sorted((WORK / "series/linux").glob("*.patch"))
    return [patch for patch in series if not patch.name.startswith("0000-")] + CHANGES


def _lay_out(whole: Path, log: IO[str]) -> None:
    """The whole source with the exported series in it. A file that is as before keeps its time, for the patches touch
    headers that most files include."""
    laid_out = WORK / "laid-out"
    shutil.rmtree(WORK / "series", ignore_errors=True)
    _run(log, TOP / "vlwp", "export", WORK / "series")
    changes = b"".join(DATED.sub(b"", patch.read_bytes()) for patch in _patches())
    stamp = hashlib.sha256(str(whole).encode() + changes).hexdigest()
    if laid_out.is_file() and laid_out.read_text(encoding="utf-8") == stamp:
        return
    laid_out.unlink(missing_ok=True)
    before = WORK / "before"
    shutil.rmtree(before, ignore_errors=True)
    if SOURCE.is_dir():
        SOURCE.rename(before)
    _run(log, "cp", "-al", whole, SOURCE)
    for path in _patches():
        with path.open("rb") as text:
            options = ("-p1", "--fuzz=0", "--force", "-s", "--no-backup-if-mismatch")
            _run(log, "patch", "-d", SOURCE, *options, stdin=text)
    for name in {name for path in _patches() for name in TOUCHED.findall(path.read_text(encoding="utf-8"))}:
        old, new = before / name, SOURCE / name
        if old.is_file() and new.is_file() and filecmp.cmp(old, new, shallow=False):
            shutil.copystat(old, new)
    laid_out.write_text(stamp, encoding="utf-8")


def _configure(it: Kernel, log: IO[str]) -> None:
    config = it.out / ".config"
    _run(log, *it.make("tinyconfig"))
    _run(log, SOURCE / "scripts/kconfig/merge_config.sh", "-m", "-O", it.out, config, *it.configs)
    _run(log, *it.make("olddefconfig"))
    lines = config.read_text(encoding="utf-8").splitlines()
    for option in (*WANTED, *it.wanted):
        if f"CONFIG_{option}=y" not in lines:
            raise Died(f"{it.name}: CONFIG_{option} is not set")


def _pack(it: Kernel, log: IO[str]) -> None:
    """The guest's init, and no module to load. The kernel starts by the way of the boot loaders: with KASAN the
    other, PVH, calls memcmp() before there is shadow memory."""
    tree = it.work / "initramfs"
    make_dir(tree / "modules")
    (tree / "modules/order").write_text("", encoding="utf-8")
    shutil.copy2(HOST / "lab/guest/guest-init", tree / "init")
    shutil.copy2(it.out / "arch/x86/boot/bzImage", it.work / "vmlinux")
    kernel.pack(tree, it.work / "initramfs.cpio", log)


def _build(kernels: Sequence[Kernel]) -> None:
    """The kernels and their initramfs."""
    need_space(6000 * len(kernels))
    base = linux.fetch()
    whole = linux.fetch_all(base)
    make_dir(WORK)
    title = f"laying out Linux {base.version} with the series"
    step(title, "kvm-debug-source", lambda log: _lay_out(whole, log))
    for it in kernels:
        make_dir(it.out)
        log_name = f"kvm-debug-{it.name}"
        step(f"configuring the kernel ({it.name})", f"{log_name}-configure", partial(_configure, it))
        compile_it = it.make(f"CC={compiler()}", "-j", str(jobs_count()), "bzImage")
        step(f"compiling the kernel ({it.name})", f"{log_name}-compile", compile_it)
        step(f"packing its initramfs ({it.name})", f"{log_name}-pack", partial(_pack, it))


def _lab(it: Kernel, run: Run) -> L1:
    """The machine of a run, with kvm-amd's parameters on the kernel's command line."""
    parameters = " ".join(f"kvm_amd.{word}" for word in run.kvm_amd.split())
    return L1(smp=2, memory=4096, cpu=run.cpu, kernel_dir=it.work, kernel_args=parameters)


def _passes(check: Check, it: Kernel, run: Run) -> None:
    """The script that starts it in L1 looks for splats."""
    place = check.work / f"{it.name}-{run.directory}"
    status = l1.boot_logged(_lab(it, run), place, run.command())
    check.say((place / "log").read_text(encoding="utf-8", errors="replace"))
    check.want(status == 0, f"it ends with status {status}")


def _chosen(args: argparse.Namespace) -> list[Kernel]:
    unknown = [name for name in args.kernels if name not in KERNELS]
    if unknown:
        raise Usage(f"soak kvm-debug: there is no kernel '{unknown[0]}': {', '.join(KERNELS)}")
    return [KERNELS[name] for name in args.kernels or KERNELS]


def main(args: argparse.Namespace) -> int:
    """The command."""
    kernels = _chosen(args)
    deps.ensure()
    l1.prepare()
    with build_lock("kvm-debug"), run_directory() as work:
        _build(kernels)
        report = Report(work)
        for it in kernels:
            for run in programs.runs():
                if run.single and run.result == "tap" and args.only in run.program:
                    report.check(f"{it.name}: {run.program}: all pass, no splat", _passes, it, run)
        return report.end()
