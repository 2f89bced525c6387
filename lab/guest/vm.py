# SPDX-License-Identifier: GPL-2.0-or-later
"""What every machine that the lab boots shares: L1 of the nested lab, and guests with LWP."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from lab.building import kernel
from lab.common import places, proc
from lab.common.say import Died

HOST_ROOT = Path("/")
GUEST_SHARE = "/run/vlwp"  # where the guest has the directory RUN/share

# What the guest's kernel is told. On a busy host emulated timers come late, which the kernel takes for
# broken hardware: no checks of the timer, of the TSC against other clocks, of stalled processors.
KERNEL_ARGS = "console=ttyS0 loglevel=4 panic=-1 no_timer_check tsc=reliable nowatchdog"
# What costs boot time and protects nothing in a guest that lives for one command.
KERNEL_ARGS += " mitigations=off cryptomgr.notests initcall_blacklist=jent_mod_init,load_system_certificate_list"


@cache
def kernel_args() -> str:
    """All of it. Linux is told how fast the TSC runs: what it measures on a busy host may be wrong many times over, and
    with tsc=reliable nothing would notice a clock that runs so fast."""
    program = places.HOST / "lab/guest/tsc-khz"
    khz = proc.output([program]).strip() if program.is_file() else ""
    return f"{KERNEL_ARGS} tsc_early_khz={khz}" if khz else KERNEL_ARGS


LOCK = "lock"  # held for as long as the directory is in use


def _sweep(name: str) -> None:
    """Remove the directories of runs that were killed."""
    for lock in Path(tempfile.gettempdir()).glob(f"{name}.*/{LOCK}"):
        try:
            with lock.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:
            continue  # it is in use, gone, or somebody else's


@contextmanager
def run_directory(name: str = "vlwp") -> Iterator[Path]:
    """A private directory for one run, with the share/ that the guest has at GUEST_SHARE."""
    _sweep(name)
    try:
        run = Path(tempfile.mkdtemp(prefix=f"{name}."))
    except OSError as err:
        raise Died(f"cannot create a directory in {places.temporary()}: {err.strerror}") from err
    try:
        with (run / "unlocked").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            (run / "unlocked").rename(run / LOCK)
            (run / "share").mkdir()
            yield run
    finally:
        shutil.rmtree(run, ignore_errors=True)


def vmrun(
    run: Path, qemu_command: Sequence[str], command: Sequence[str], *options: str, linux: str = "",
    root: Path = HOST_ROOT, modules: bool = not places.RELEASE,
) -> list[str]:
    """The command line that runs one command in the guest that a QEMU command line makes; more options of
    vmrun; linux: the base of the guest's kernel, whose modules it sees."""
    if root == HOST_ROOT:
        options += (f"--cwd={os.getcwd()}",)
    if root == HOST_ROOT and modules:
        tree = places.guest_of(linux) / "sysroot/lib/modules"
        options += (f"--modules={tree / kernel.version(linux)}",)
    return [*_vmrun(run, options), *qemu_command, "--", *command]


def vmrun_alone(run: Path, qemu_command: Sequence[str], *options: str) -> list[str]:
    """The same with a guest that has its command already."""
    return [*_vmrun(run, options), f"--share={run}/share", *qemu_command]


def _vmrun(run: Path, options: Sequence[str]) -> list[str]:
    """The console of a guest that dies stays in build/log."""
    kept = f"--keep-console={places.LOG}/console-{os.getpid()}-{run.name}"
    program = str(places.HOST / "lab/guest/vmrun")
    return [program, *options, f"--log={run}/qemu.log", f"--console={run}/console", kept]


def host_files(root: Path) -> list[str]:
    """QEMU's arguments for a guest whose files are those of this machine, or of one directory."""
    name = str(root).replace(",", ",,")
    return ["-virtfs", f"local,path={name},mount_tag=host,security_model=none,readonly=on,multidevs=remap"]


def shared(tag: str, directory: Path) -> list[str]:
    """QEMU's arguments for a directory that the guest may mount by its tag, and write as we can."""
    name = str(directory).replace(",", ",,")
    return ["-virtfs", f"local,path={name},mount_tag={tag},security_model=none,multidevs=remap"]


def common_arguments(
    run: Path, smp: int, memory: int, kernel_dir: Path = places.GUEST, root: Path = HOST_ROOT,
    initrd: Path | None = None,
) -> list[str]:
    """QEMU's arguments that L1 and every guest share."""
    initrd = initrd or kernel_dir / "initramfs.cpio"
    return [
        *("-L", str(places.FIRMWARE), "-machine", "q35", "-smp", str(smp), "-m", str(memory)),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", f"file:{run}/console"),
        *("-kernel", str(kernel_dir / "vmlinux"), "-initrd", str(initrd)),
        *host_files(root),
        *shared("share", run / "share"),
    ]
