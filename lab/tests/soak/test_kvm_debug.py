# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of kvm/tests on kernels that look for mistakes, with KVM as our series makes it built in: no splat. One has
KASAN, UBSAN, lockdep and PROVE_RCU, one is PREEMPT_RT and tells who sleeps where that is forbidden, and one has
KCSAN."""

import filecmp
import hashlib
import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from lab.building import kernel, linux
from lab.common import proc
from lab.common.places import BUILD, HOST, LAB, TOP
from lab.common.say import Died
from lab.common.steps import build_lock, compiler, jobs_count, make_dir, need_space, step
from lab.nested import l1, programs
from lab.nested.l1 import L1
from lab.nested.programs import Run
from lab.series import linux as series

WORK = BUILD / "kvm-debug"
SOURCE = WORK / "source"
CONFIG = LAB / "tests/soak/kvm-debug.config"
DATED = re.compile(rb"^(From|Date:) .*$", re.MULTILINE)  # lines that are new in each export
TOUCHED = re.compile(r"^\+\+\+ b/(.*)$", re.MULTILINE)
# What Debian's source has besides the series.
CHANGES = [LAB / "tests/soak/kvm-debug-tsc.patch", LAB / "tests/soak/kvm-debug-avic.patch"]
# Of all kernels: what L1 needs and what is tested.
WANTED = "PROVE_LOCKING DEBUG_ATOMIC_SLEEP KVM_AMD_LWP 9P_FS OVERLAY_FS VIRTIO_CONSOLE".split()


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


def _run(log: IO[str], *argv: proc.Word, **options: object) -> None:
    status = proc.logged(argv, log, **options)
    if status:
        raise Died(f"{argv[0]} ends with status {status}")


def _patches() -> list[Path]:
    """What the source has besides Debian's: the series without its notes, and our changes."""
    return series.patches(WORK / "series") + CHANGES


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


def _build(it: Kernel) -> None:
    """A kernel and its initramfs."""
    need_space(6000)
    base = linux.fetch()
    whole = linux.fetch_all(base)
    make_dir(WORK)
    title = f"laying out Linux {base.version} with the series"
    step(title, "kvm-debug-source", lambda log: _lay_out(whole, log))
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


@pytest.fixture(scope="module")
def built() -> dict[str, Kernel]:
    """Those that were built in this run."""
    l1.prepare()
    return {}


RUNS = [run for run in programs.runs() if run.single and run.result == "tap"]


@pytest.mark.soak
@pytest.mark.parametrize("run", [pytest.param(run, id=run.program) for run in RUNS])
@pytest.mark.parametrize("name", KERNELS)
def test_kvm_debug(name: str, run: Run, built: dict[str, Kernel], tmp_path: Path) -> None:
    """All pass, no splat: the script that starts it in L1 looks for these."""
    with build_lock("kvm-debug"):
        if name not in built:
            _build(KERNELS[name])
            built[name] = KERNELS[name]
        status = l1.boot_logged(_lab(built[name], run), tmp_path, run.command())
    print((tmp_path / "log").read_text(encoding="utf-8", errors="replace"))
    assert status == 0
