# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest: the options that `run` and `shell` share, QEMU's command line, and one command run in it.

Guests boot the stock kernel with our init and see this machine's files read-only through 9p."""

import argparse
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.building import deps, kernel, linux, qemu, ready, tools
from lab.common import places, proc
from lab.common.options import number
from lab.common.rows import EXACT, planted
from lab.common.say import Died, Skip, Usage, say
from lab.guest import capsule, count1, frozen
from lab.guest.files import program, writable
from lab.guest.vm import GUEST_SHARE, HOST_ROOT, common_arguments, kernel_args, shared, vmrun
from lab.nested import l1

TOOLS_LWPRUN = "/run/tools/lwprun"
LWP_MODEL = "EPYC"  # the CPU model with which guests have LWP
NETWORK = "network"  # as lab/guest/proto.h has it
USER_NETWORK = ["-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-pci,netdev=net,romfile="]
QUIT = '{"execute": "qmp_capabilities"}\n{"execute": "quit"}\n'
# In the lab data cache misses are sampled more often than where a second has 10^10 ops; and perf does not sample less
# because its handlers take long there.
OFTEN = """mount -t debugfs none /sys/kernel/debug
echo 16384 >/sys/kernel/debug/kvm/lwp/ibs_period
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
exec "$@"
"""


@dataclass
class Machine:
    """What a guest is made of, and who runs it."""

    accel: str = "tcg"
    smp: int = 2
    memory: int = 1024  # MiB
    cpu: str = ""  # more CPU properties
    model: str = LWP_MODEL  # another one has no LWP
    stats: Path | None = None
    kvm_amd: str = ""  # kvm-amd's parameters in the lab
    row: str = ""  # what is wrong with TCG's counters
    counters: str = ""  # what else they are, as ipc=4
    runs: int = 0  # how often the command runs, if its statistics after each run are wanted, in STATS.1 ...
    net: bool = False  # it has a network
    passes: bool = False  # the first SIGINT or SIGTERM is for the command, which is lwprun
    frozen: count1.Count1 | None = None  # it is that machine, and nothing above describes it
    root: Path = HOST_ROOT  # whose files it sees
    writable: Path | None = None  # a directory that it writes, too, once that is mounted
    initrd: Path | None = None  # for another root: with our tools
    kernel: Path = places.GUEST  # what it boots from
    asked: list[str] = field(default_factory=list)  # the user's words for the processors and their memory
    passed: int = field(default=0, init=False)  # that signal
    in_lab: bool = field(default=False, init=False)

    @property
    def lwprun(self) -> str:
        """Where the guest has it: in the initramfs, if the files are not this machine's."""
        return TOOLS_LWPRUN if self.frozen or self.root != HOST_ROOT else str(places.LWPRUN)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that describe a guest."""
    parser.add_argument(
        "--accel",
        choices=("tcg", "kvm"),
        default="tcg",
        help="who runs the guest (default tcg: QEMU, on any machine); kvm where no KVM has LWP: inside of an emulated "
        "machine that has it, slow",
    )
    smp, memory = number(1, 999, "a number of processors"), number(256, 9999999, "a memory in MiB")
    parser.add_argument("--smp", type=smp, metavar="N", help=f"processors of the guest (default {Machine.smp})")
    parser.add_argument("--memory", type=memory, metavar="MIB", help=f"its memory (default {Machine.memory})")
    parser.add_argument(
        "--cpu", type=_properties, metavar="PROPERTY,...", help="CPU properties, as lwp-rev=2007,-lwp"
    )
    parser.add_argument(
        "--stats", type=Path, metavar="FILE", help="write what QEMU or KVM counted of LWP there: CPU NAME VALUE"
    )
    parser.add_argument(
        "--kvm-amd", default="", metavar="PARAMETERS", help="parameters of kvm-amd in the lab, as lwp_source=step"
    )
    parser.add_argument(
        "--pmu-row", default="", metavar="ROW", help="what is wrong with TCG's counters, as late=9/9/9/9/9/9,rate=1000"
    )
    parser.add_argument(
        "--pmu-model", default="", metavar="WORDS", help="of TCG's counters: ipc=N (1 to 16), predictor=2bit, or both"
    )
    parser.add_argument(
        "--net", action="store_true", help="a network: what you can reach by TCP and UDP; nobody reaches the guest"
    )
    parser.add_argument("--capsule", type=Path, metavar="FILE", help="what ./vlwp freeze has kept, on that machine")
    add_files(parser)
    parser.epilog = "The guest sees this machine's files as you can read them; what it writes is gone at the end."


def add_files(parser: argparse.ArgumentParser) -> None:
    """The options of a machine whose files are in its RAM, or those of a directory."""
    parser.add_argument(
        "--machine", type=count1.option, metavar=f"{count1.NAME}[,seed=N][,whole]",
        help="the machine that runs the same twice (docs/count-1.md); the program runs twice, first to note its files; "
        "with whole all files of --root are in its RAM",
    )
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME[=VALUE]",
        help=f"a variable for the program there, which else has {', '.join(count1.ENVIRONMENT)} (may be repeated)",
    )
    parser.add_argument(
        "--root", metavar="DIR", help="its files are those of DIR, which has what lwprun is linked with (libelf, libdw)"
    )


def refuse_guest(args: argparse.Namespace) -> None:
    """With --process there is no guest that an option could describe."""
    names = (
        "accel", "smp", "memory", "cpu", "stats", "kvm_amd", "pmu_row", "pmu_model", "net", "capsule", "machine",
        "root",
    )
    if given := [name for name in names if getattr(args, name) not in (None, "", "tcg", False)]:
        raise Usage(f"--process takes no --{given[0].replace('_', '-')}: there is no guest")


def without_options(parser: argparse.ArgumentParser, smp: int = 0, memory: int = 0) -> None:
    """For a command that has no options of a guest: what from_options() takes for them."""
    parser.set_defaults(smp=smp, memory=memory, accel="tcg", cpu="", stats=None, kvm_amd="", pmu_row="", pmu_model="")
    parser.set_defaults(net=False)


def _properties(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("needs properties, as lwp-rev=2007")
    return text


def kvm_has_lwp() -> bool:
    """Is this machine's KVM one with LWP, which needs no lab?"""
    has = Path("/sys/module/kvm_amd/parameters/lwp")
    return has.is_file() and has.read_text(encoding="ascii").strip() == "Y"


def from_options(
    args: argparse.Namespace, checked: bool = True, default: Callable[[], count1.Count1 | None] = lambda: None
) -> Machine:
    """The guest that the user's options describe. What can be known to fail is refused here; checked: a program that is
    not there, too. default: what it is if no option says otherwise."""
    machine = Machine(args.accel, cpu=args.cpu or "", stats=args.stats, kvm_amd=args.kvm_amd, row=args.pmu_row)
    machine.counters, machine.net = args.pmu_model, args.net
    settings = ("smp", "memory", "cpu", "kvm_amd", "pmu_row", "pmu_model")
    machine.asked = [f"--{name.replace('_', '-')}={getattr(args, name)}" for name in settings if getattr(args, name)]
    fixed = [one.partition("=")[0] for one in machine.asked]
    fixed += ["--accel"] if args.accel != "tcg" else []
    fixed += ["--net"] if args.net else []
    if (args.machine or args.capsule) and fixed:
        raise Usage(f"{fixed[0]}: {count1.NAME} is one machine, docs/count-1.md")
    machine.frozen = args.machine or (None if fixed or args.stats else default())
    machine.smp, machine.memory = args.smp or machine.smp, args.memory or machine.memory
    if args.root:
        machine.root = Path(os.path.abspath(args.root))
        if not machine.root.is_dir():
            raise Died(f"--root={args.root}: there is no such directory")
    if machine.frozen and machine.frozen.whole and machine.root == HOST_ROOT:
        raise Usage(f"--machine={count1.NAME},whole needs --root=DIR")
    if args.program and checked and not args.capsule:
        program(args.program[0], machine.root)
    if args.capsule:
        if args.program or args.root:
            raise Usage("--capsule has a program and its files: give no --root, and nothing after --")
        with capsule.opened(args.capsule) as content:
            args.program = content.head.command
        machine.frozen = replace(machine.frozen or count1.Count1(), file=args.capsule)
    if machine.frozen:
        machine.frozen.variables.update(variable(text) for text in args.env)
        _in_path(machine.frozen, args.program)
    elif args.env:
        raise Usage(f"--env: only {count1.NAME} does not have your environment")
    if machine.stats:
        writable(machine.stats)
    given = os.environ.get("VLWP_QEMU")
    if given and not os.access(given, os.X_OK):
        raise Died(f"VLWP_QEMU={given}: no program there")
    if places.OWN_KERNEL and places.RELEASE:
        raise Died(f"VLWP_KERNEL={places.OWN_KERNEL}: this release has one for guests; the source tree takes others")
    if machine.accel == "kvm":
        machine.in_lab = not kvm_has_lwp()
        if machine.in_lab and places.RELEASE:
            raise Died("--accel=kvm: this machine's KVM has no LWP, and this release has no machine that emulates one")
        if not machine.in_lab and not os.access("/dev/kvm", os.W_OK):
            raise Skip("--accel=kvm needs write access to /dev/kvm")
    for option in ("pmu_row", "pmu_model"):
        if getattr(args, option) and machine.accel != "tcg":
            raise Usage(f"--{option.replace('_', '-')} is for TCG's counters")
    if machine.net and machine.in_lab:
        raise Usage("--net: the nested lab has no network")
    if machine.kvm_amd and not machine.in_lab:
        raise Usage("--kvm-amd is for the lab: use it with --accel=kvm where this machine's KVM has no LWP")
    return machine


def variable(text: str) -> tuple[str, str]:
    """Of --env."""
    name, given, value = text.partition("=")
    if not name or not given and name not in os.environ:
        raise Usage(f"--env={text}: there is no such variable here: give NAME=VALUE")
    return name, value if given else os.environ[name]


def _in_path(one: count1.Count1, words: Sequence[str]) -> None:
    """What the user's shell finds may not be where the program is looked for."""
    path = {**count1.ENVIRONMENT, **one.variables}["PATH"]
    if words and "/" not in words[0] and shutil.which(words[0]) and not shutil.which(words[0], path=path):
        raise Died(f"{words[0]}: this is not in the PATH of {count1.NAME}: give its path, or --env=PATH")


def deliver_windows(guest: Machine, options: Sequence[str]) -> None:
    """Under KVM windows of branches want exact delivery: prompt delivery steps so many instructions in a second, and
    counts no others. docs/kvm.md"""
    windows = any(option.startswith("--windows") for option in options)
    if guest.accel == "kvm" and windows and "lwp-delivery=" not in guest.cpu:
        guest.cpu = ",".join(filter(None, [guest.cpu, "lwp-delivery=exact"]))


def patience(smp: int, processors: int) -> str:
    """What to tell a user who waits for a guest with more processors than the machine has; empty: nothing."""
    if smp <= 2 * processors:
        return ""
    return f"{smp} processors on the {processors} of this machine: the guest takes its time to boot, minutes for 64"


def prepare(machine: Machine) -> None:
    """Install and build what the guest needs, if it is out of date."""
    if machine.in_lab or not ready.unchanged():
        deps.ensure(tests=machine.in_lab)
        _build(machine)
        ready.note()
    if machine.asked and not machine.in_lab:
        _refuse_machine(machine)
    waiting = patience(machine.smp, os.cpu_count() or 1)
    if waiting:
        say(waiting)


def _build(machine: Machine) -> None:
    if machine.in_lab:
        say("no kvm_amd with LWP is loaded here: using the nested lab, an emulated AMD machine that has it")
        linux.build()
    tools.build(everything=False)
    kernel.build()
    qemu.ensure()


def _has_misses(machine: Machine) -> bool:
    """Can its data cache misses be counted? TCG has a model of the caches, the lab a processor with IBS."""
    if machine.accel == "tcg" or machine.in_lab:
        return True
    return kvm_has_lwp() and "lwp-dme" in proc.output([places.LWPCTL, "caps", "--json"])


def _refuse_machine(machine: Machine) -> None:
    """What QEMU does not take of the words that the user has for the machine ends the command before the boot."""
    alone = ["-machine", "q35", "-smp", str(machine.smp), "-m", str(machine.memory), "-L", str(places.FIRMWARE)]
    quiet = ["-nodefaults", "-no-user-config", "-display", "none", "-S", "-qmp", "stdio"]
    words = [str(places.qemu()), *alone, *quiet, *_processor(machine), *planted(machine.row, machine.counters)]
    child = subprocess.run(words, input=QUIT, capture_output=True, text=True, check=False)
    if child.returncode:
        lines = child.stderr.splitlines() or [f"QEMU ends with status {child.returncode}"]
        raise Usage(f"{' '.join(machine.asked)}: {re.sub('^.*-cpu[.][^:]*: |^[^ ]*: ', '', lines[-1])}")


def _processor(machine: Machine) -> list[str]:
    """QEMU's words for the processors of a guest that has LWP."""
    accel = "tcg,thread=multi" if machine.accel == "tcg" else machine.accel
    fewer_events = "lwp-profile=" in machine.cpu or "lwp-max-events=" in machine.cpu
    caches = "" if fewer_events or not _has_misses(machine) else ",lwp-dme=on"
    model = f"{LWP_MODEL},+lwp{caches}" if machine.model == LWP_MODEL else f"{machine.model},check=off"
    return ["-accel", accel, "-cpu", model + (f",{machine.cpu}" if machine.cpu else "")]


def qemu_command(machine: Machine, run: Path, more: str = "") -> list[str]:
    """The emulator with a guest that has LWP, and more arguments for the guest's kernel."""
    own = [*_processor(machine), "-append", f"{kernel_args()} {NETWORK if machine.net else ''} {more}".strip()]
    own += USER_NETWORK if machine.net else []
    common = common_arguments(run, machine.smp, machine.memory, machine.kernel, machine.root, machine.initrd)
    written = shared("work", machine.writable) if machine.writable else []
    return [str(places.qemu()), *common, *own, *written, *planted(machine.row, machine.counters)]


def command_line(machine: Machine, run: Path, command: Sequence[str]) -> list[str]:
    """The command line that runs a command in a guest, without the lab around it."""
    options = [*_wanted(machine), *(["--pass-signals"] if machine.passes else [])]
    return vmrun(run, qemu_command(machine, run), command, *options, root=machine.root)


def _wanted(machine: Machine) -> list[str]:
    return [f"--{name}={value}" for name, value in (("stats", machine.stats), ("runs", machine.runs)) if value]


def boot(machine: Machine, run: Path, command: Sequence[str], **stdio: Any) -> int:
    """Run one command in a guest. Result: its exit status. Its input and output are ours, or stdio's
    (as subprocess.Popen takes them). On count-1 stdio may have events, which are counted."""
    if machine.frozen:
        one = machine.frozen
        if not one.file:
            one.program = one.program or frozen.program(one, machine.root, run, command, command)
        status, machine.passed = frozen.boot(one, run, command, *_wanted(machine), passes=machine.passes, **stdio)
        return status
    if machine.root != HOST_ROOT:
        machine.initrd = frozen.with_tools(run)
    if machine.in_lab:
        return _boot_in_lab(machine, run, command, **stdio)
    stdio = {**stdio, "env": {"VLWP_SHARE": GUEST_SHARE}, "as_user": True}
    line = command_line(machine, run, command)
    if not machine.passes:
        return proc.call(line, **stdio)
    status, machine.passed = proc.call_passing(line, **stdio)
    return status


def _boot_in_lab(machine: Machine, run: Path, command: Sequence[str], **stdio: Any) -> int:
    """The same in a guest of the lab, whose machine has a PMU that is right, and IBS."""
    inner = replace(machine, accel="kvm", stats=None, kvm_amd="", passes=False)
    inner.stats = Path(GUEST_SHARE, "stats") if machine.stats else None
    inner.in_lab = True
    kvm_amd = f"lwp_row={EXACT} {machine.kvm_amd}".strip()
    cpu = "EPYC,pmu=on,+perfctr-core,ibs=on,ibs-cache=on"
    lab = l1.L1(smp=1, memory=machine.memory + 1024, cpu=cpu, kvm_amd=kvm_amd)
    words = ["/bin/sh", "-euc", OFTEN, "-", *inner_command(inner, command)]
    status = l1.boot(lab, run, words, **stdio)
    for stats in (run / "share").glob("stats*"):
        try:
            shutil.copyfile(stats, f"{machine.stats}{stats.suffix}")
        except OSError as err:
            raise Died(f"{machine.stats}: cannot write this file: {err.strerror}") from err
    return status


def inner_command(machine: Machine, command: Sequence[str]) -> list[str]:
    """For L1: the command line that runs a command in a guest there, with L1's own files in /tmp and the share
    handed on."""
    script = 'mkdir /tmp/vlwp-l2 && ln -s "$VLWP_SHARE" /tmp/vlwp-l2/share && exec "$@"'
    line = command_line(machine, Path("/tmp/vlwp-l2"), command)
    return ["/bin/sh", "-c", script, "-", *line]


def totals(stats: Path) -> dict[str, int]:
    """Statistics in a file of lines "CPU NAME VALUE", summed over the CPUs."""
    total: dict[str, int] = {}
    for line in stats.read_text(encoding="utf-8").splitlines():
        _, name, value = line.split()
        total[name] = total.get(name, 0) + int(value)
    return total


def how_counted(stats: Path) -> str:
    """How KVM counted for a guest with these statistics, in one line."""
    total = totals(stats)
    steps, interrupts = total.get("steps", 0), total.get("counter-irqs", 0)
    text = f"Counted by the PMU: {interrupts} interrupts, {steps} steps" if interrupts else f"Counted in steps: {steps}"
    text += f" for {total.get('records', 0)} records"
    if total.get("no-counter"):
        text += f"; a counter was missing {total['no-counter']} times"
    return text + "."
