# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of migratetest: on this machine, in L1 of the nested lab, and in two linked L1 machines. One table
says how much of each the test and the soak do."""

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab.building import kernel, qemu
from lab.common import bases, places, proc
from lab.common.beside import side_by_side
from lab.common.report import Report, tail, tee
from lab.common.say import Skip
from lab.common.steps import build_lock, jobs_count, make_dir
from lab.guest.vm import GUEST_SHARE
from lab.nested import l1
from lab.testing.part import quoted

MIGRATETEST = places.HOST / "lab/migrate/migratetest"
INITRD = places.BUILD / "migrate/live.cpio"  # a Linux guest whose init is guest-tests/linux/live
L1_WORK = Path("/run")  # for migratetest's files in L1

# What both accelerators have of LWP, no paravirtualisation, and a machine type that has no KVM clock without it.
ACROSS = ("--machine=pc-q35-5.1", "--cpu=lwp-dme=off,lwp-cnh=off,lwp-rnh=off,kvm=off")


@dataclass
class Task:
    """One run: where its results and files go, how much it does, and what its draws begin with."""

    report: Report
    work: Path
    count: int | None  # None: the run takes no count
    seed: int


@dataclass(frozen=True)
class Run:
    """A row of the table."""

    name: str
    line: str
    do: Callable[["Run", Task], None]
    test: int | None = None  # counts of the test and of the soak
    soak: int | None = None
    part: str = ""  # of migratetest; empty: as the run is called
    options: tuple[str, ...] = ()
    in_test: bool = True
    other_kernel: bool = False  # the second of two hosts has the kernel of another base


def prepare() -> None:
    """Build what the runs need, if it is out of date."""
    l1.prepare()
    qemu.build("base")
    tree = INITRD.with_suffix(".root")
    make_dir(tree, places.LOG)
    with build_lock("migrate"), (places.LOG / "migrate-initrd").open("w", encoding="utf-8") as log:
        shutil.copy(places.LINUX_PROGRAMS / "live", tree / "init")
        kernel.pack(tree, INITRD, log)


def command(part: str, work: Path, jobs: int, *options: str) -> list[str]:
    """A command line of migratetest; work is a directory for its files."""
    return proc.words([
        *(MIGRATETEST, f"--qemu={places.qemu()}", f"--base={places.qemu_base()}", f"--firmware={places.FIRMWARE}"),
        *(f"--flat={places.HOST}/guest-tests/flat/flat.elf", f"--kernel={places.GUEST}/vmlinux"),
        *(f"--initrd={INITRD}", f"--work={work}", f"--jobs={jobs}", *options, part),
    ])


def options_of(run: Run, count: int | None, seed: int | None) -> list[str]:
    """What migratetest is told of a run."""
    options = [f"--count={count}"] if count is not None else []
    return [*options, *run.options, *([f"--seed={seed}"] if seed is not None else [])]


def inner(run: Run, count: int | None, seed: int | None) -> list[str]:
    """What a run starts in L1."""
    if run.do is attributes:
        numbers = [str(number) for number in (count, seed) if number is not None]
        return [str(places.KVM_PROGRAMS / "kvm_hostile"), "attributes", *numbers]
    return command(run.part or run.name, L1_WORK, 1, *options_of(run, count, seed))


def shown(run: Run) -> str:
    """The command line of the test's run as a user can run it."""
    if run.do is here:
        return quoted(command(run.part or run.name, places.temporary(), jobs_count(), *options_of(run, run.test, None)))
    if run.do is pair:
        return f"./vlwp test migrate {run.name}"  # it takes two machines
    work = places.temporary() / f"vlwp-{run.name}"
    line = quoted(l1.command_line(l1.L1(), work, inner(run, run.test, None)))
    return f"mkdir -p {work}/share && VLWP_SHARE={GUEST_SHARE} {line}"


def _result(report: Report, name: str, out: Path, errors: Path) -> None:
    """Take the sums in the last line of migratetest's output."""
    last = (tail(out, 1) or [""])[0]
    if re.fullmatch(r"\d+ passed, \d+ failed, \d+ skipped", last):
        report.add_closing(last, name)
    else:
        report.not_ok(f"{name}: {(tail(errors, 1) or [last or 'it said nothing'])[0]}")


def _run(name: str, argv: Sequence[proc.Word], task: Task, **options: object) -> None:
    """Run a command that ends as migratetest does, show its output, take its sums."""
    out, errors = task.work / "out", task.work / "err"
    with errors.open("w", encoding="utf-8") as err:
        tee(argv, out, stderr=err, **options)
    _result(task.report, name, out, errors)


def here(run: Run, task: Task) -> None:
    """On this machine, under TCG."""
    part = run.part or run.name
    _run(run.name, command(part, task.work, jobs_count(), *options_of(run, task.count, task.seed)), task)


def nested(run: Run, task: Task) -> None:
    """In L1 of the nested lab, whose KVM has LWP."""
    task.report.line(f"In the nested lab {' '.join(run.options)}:")
    (task.work / "share").mkdir()
    line = l1.command_line(l1.L1(), task.work, inner(run, task.count, task.seed))
    _run(run.name, line, task, env={"VLWP_SHARE": GUEST_SHARE})


def attributes(run: Run, task: Task) -> None:
    """In L1: damaged images and context arrays for KVM's attributes, and guests that run with them."""
    status = l1.boot_logged(l1.L1(), task.work, inner(run, task.count, task.seed))
    text = (task.work / "log").read_text(encoding="utf-8", errors="replace")
    task.report.line(text.rstrip("\n"))
    passed, failed = (len(re.findall(f"^{word}", text, re.MULTILINE)) for word in ("ok ", "not ok "))
    task.report.add(passed, failed, 0)
    if not re.search(r"^1\.\.", text, re.MULTILINE):
        task.report.not_ok(f"{run.name}: the test of KVM's attributes ended early")
    elif status and not failed:
        task.report.not_ok(f"{run.name}: status {status}: the kernel of L1 complains")


def _host(role: str, other: str, linux: str, run: Run, task: Task) -> None:
    """One of two L1 machines that a datagram socket links; linux: the base of its kernel."""
    sockets = {name: task.work / f"{name}.socket" for name in (role, other)}
    local = f"local.type=unix,local.path={sockets[role]}"
    lab = l1.L1(linux=linux, memory=1536, devices=[
        *("-netdev", f"dgram,id=link,{local},remote.type=unix,remote.path={sockets[other]}"),
        *("-device", f"virtio-net-pci,netdev=link,mac=52:54:00:00:00:0{len(role)}"),
    ])
    options = [*options_of(run, task.count, task.seed), f"--role={role}"]
    l1.boot_logged(lab, task.work / role, command(run.part or run.name, L1_WORK, 1, *options))


def _linked(run: Run, task: Task, second: str) -> None:
    """Between two L1 machines that are linked; the second has the kernel of a base."""
    hosts = (("first", "second", ""), ("second", "first", second))
    side_by_side([partial(_host, *host, run, task) for host in hosts], len(hosts))
    for role, _, linux in hosts:
        log = task.work / role / "log"
        if run.other_kernel:
            task.report.line(f"The {role} host has Linux {kernel.version(linux)}:")
        task.report.line(log.read_text(encoding="utf-8", errors="replace").rstrip("\n"))
        _result(task.report, role, log, log)


def pair(run: Run, task: Task) -> None:
    """Between two L1 machines: of the same kernel, or of the chosen one and each other one."""
    for linux in bases.other_kernels() if run.other_kernel else [""]:
        if linux:
            l1.prepare_kernel(linux)
        _linked(run, task, linux)


KVM = "--accel=kvm"
RUNS = (
    Run("points", "save and restore at points of a program, in every state of the engine", here, 100, 1000),
    Run("moments", "save and restore at moments, for any accelerator", here, 10, 100),
    Run("snapshot", "snapshots in one process", here, 10, 100),
    Run("mismatch", "a machine that does not fit is refused while the guest runs", here),
    Run("pit", "a machine whose PIT was loaded before zero", here),
    Run("fuzz", "damaged streams", here, 1000, 10000),
    Run("live", "live migrations of a Linux guest that is profiled", here, 5, 50),
    Run("points-kvm", "points under KVM, in the nested lab", nested, 10, 100, "points", (KVM,)),
    Run("tcg-to-kvm", "points saved under TCG, restored under KVM", nested, 2, 20, "points",
        ("--accel=tcg", "--into=kvm", *ACROSS)),
    Run("kvm-to-tcg", "points saved under KVM, restored under TCG", nested, None, 20, "points",
        (KVM, "--into=tcg", *ACROSS), in_test=False),
    Run("attributes", "damaged images and context arrays for KVM", attributes, 1000, 10000),
    Run("pair", "live migrations between two L1 machines", pair, 2, 10, "", (KVM,)),
    Run("pair-kernels", "live migrations between L1 machines of two kernels, there and back", pair, 2, 10, "pair",
        (KVM,), other_kernel=True),
)


def execute(run: Run, report: Report, count: int | None, seed: int) -> None:
    """One row with a count, in a directory of its own."""
    work = report.work / run.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        run.do(run, Task(report, work, count, seed))
    except Skip as err:
        report.skip(f"{run.name}: {err}")
    except (OSError, subprocess.SubprocessError) as err:
        report.not_ok(f"{run.name}: {err}")
