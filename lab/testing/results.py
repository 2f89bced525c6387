# SPDX-License-Identifier: GPL-2.0-or-later
"""A program under lwprun computes what it computes without: programs whose output is known, with events, intervals and
windows that are drawn, many guests at once, so that the host is overloaded."""

import os
import random
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.common import proc
from lab.common.places import LINUX_PROGRAMS, LWPRUN, TOP
from lab.common.say import Died
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.nested import machine

SOURCES = TOP / "guest-tests/linux/results"
OVERLOAD = 6  # vCPUs for each processor of the host
SIZES = (2, 4)  # vCPUs of the guests
GUEST_MEMORY = 1536  # MiB; half of it is for profiles
PATIENCE = 3600  # seconds for a program in an emulated guest; node with windows takes 100 on an idle host
CLOCK = 120  # seconds; a guest's clock that is more wrong has another patience, which may be why
SLOW = ("java", "-XX:-UsePerfData", "-cp", "{work}", "Slow")

# For the nested lab: a line each, of two million instructions; what loads Perl's modules has ten.
PERL = (
    "$m{$_ % 29} += $_ * $_ for 0 .. 900;"
    " for (sort { $m{$a} <=> $m{$b} || $a <=> $b } keys %m) {"
    ' ($t = "$_=$m{$_}") =~ s/([0-9])([0-9])/$2$1/g; $h = ($h * 31 + unpack("%32C*", $t)) % 4294967291; }'
    ' print "$h\\n";'
)
LUA = (
    'local bit, hash, sum = require "bit", 0, 0'
    " local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end"
    " for i = 1, 250 do"
    ' for c in tostring(i % 7 ~= 0 and i / 3 or -i):gmatch "." do hash = bit.bxor(bit.rol(hash, 5), c:byte()) end'
    " sum = sum + (i % 3 ~= 0 and 1 / i or -i / 7) end"
    ' print(fib(12), hash, string.format("%.17g", sum))'
)

# Those that notice a planted loss of flags; the sums of the first four need nothing but the program.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "java": (*SLOW, "25", "100000"),
    "java-int": (*SLOW[:1], "-Xint", *SLOW[1:], "17", "5000"),
    "java-c1": (*SLOW[:1], "-XX:TieredStopAtLevel=1", *SLOW[1:], "23", "50000"),
    "java-c2": (*SLOW[:1], "-XX:-TieredCompilation", *SLOW[1:], "23", "50000"),
    "node": ("node", str(SOURCES / "jit.js")),
    "luajit": ("luajit", str(SOURCES / "jit.lua")),
    "perl": ("perl", str(SOURCES / "own.pl")),
    "python3": ("/usr/bin/python3", "-S", str(SOURCES / "own.py")),
    "gcc": ("gcc", "-O2", "-S", "-o", "-", str(SOURCES / "flags.c")),
    "xz": ("sh", "-c", "xz -1c /bin/sed | xz -dc | sha256sum"),
    "flags": (str(LINUX_PROGRAMS / "flags"),),
    "java-short": (*SLOW, "20", "20000"),
    "perl-short": ("perl", "-e", PERL),
    "luajit-short": ("luajit", "-e", LUA),
    "xz-short": ("sh", "-c", "head -c 4096 /bin/sed | xz -1c | xz -dc | sha256sum"),
    "sum-short": ("sha256sum", "/etc/debian_version"),
}
# Code that is written while it runs is where a result was changed before.
WEIGHTS = {"java": 6, "java-c1": 3, "java-c2": 3}
EVENTS = {
    "tcg": ("instructions", "branches", "dcache-misses", "cycles", "ref-cycles", "windows"),
    "kvm": (*("instructions", "branches") * 3, "windows"),
}
ALL_BRANCHES = "sum-short"  # windows record each branch, some 10 ms each in the nested lab: one of 50,000 branches
INTERVALS = (97, 10007)

# $1: seconds, $2: the file of commands, a line each. A run has ended when its status and the guest's time are there.
SCRIPT = """
while read -r name line; do
    eval "timeout -k 9 $1 $line" >"$VLWP_SHARE/$name.out" 2>"$VLWP_SHARE/$name.err" </dev/null
    echo $? $(date +%s) >"$VLWP_SHARE/$name.status"
    rm -f "/tmp/lwp.$name"
done <"$2"
"""


@dataclass(frozen=True)
class Run:
    """One program under lwprun. All of it is drawn from the seed."""

    seed: int
    program: str
    smp: int
    event: str
    interval: int

    def __str__(self) -> str:
        return f"{self.program} smp={self.smp} {self.event}" + (f":{self.interval}" if self.interval else "")

    def options(self) -> list[str]:
        """Those of lwprun."""
        return [f"--event={self.event}:{self.interval}"] if self.interval else ["--windows=31:3100"]


@dataclass(frozen=True)
class Wanted:
    """What a program does without LWP on this machine: exit status and output."""

    status: int
    output: bytes


def draw(seed: int, programs: Sequence[str], accel: str = "tcg", sizes: Sequence[int] = SIZES) -> Run:
    """The run of a seed. Short intervals are as likely as long ones."""
    dice = random.Random(seed)
    program = dice.choices(programs, [WEIGHTS.get(name, 1) for name in programs])[0]
    event = dice.choice(EVENTS[accel])
    low, high = INTERVALS
    interval = 0 if event == "windows" else round(low * (high / low) ** dice.random())
    if (accel, event) == ("kvm", "windows") and ALL_BRANCHES in programs:
        program = ALL_BRANCHES
    return Run(seed, program, dice.choice(sizes), event, interval)


def missing(programs: Sequence[str]) -> list[str]:
    """Those that this machine has not, but for what is built here."""
    first = {name: PROGRAMS[name][0] for name in programs}
    return [name for name, path in first.items() if LINUX_PROGRAMS not in Path(path).parents and not shutil.which(path)]


def words(program: str, work: Path) -> list[str]:
    """The command line of a program; what is compiled for it lies in work."""
    return [word.replace("{work}", str(work)) for word in PROGRAMS[program]]


def known(programs: Sequence[str], work: Path) -> dict[str, Wanted]:
    """Compile what has to be, and let each program compute its result here."""
    if any(name.startswith("java") for name in programs):
        proc.output(["javac", "-d", work, SOURCES / "Slow.java"])
    wanted = {}
    for name in programs:
        run = subprocess.run(words(name, work), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
        if run.returncode or not run.stdout:
            raise Died(f"{name}: status {run.returncode} on this machine without LWP; its result is not known")
        wanted[name] = Wanted(run.returncode, run.stdout)
    return wanted


def judge(share: Path, run: Run, wanted: Wanted) -> str | None:
    """How a run that has ended was wrong, in a line; "": it was right; None: it has not ended."""
    path = share / f"{run.seed}.status"
    text = path.read_text(encoding="ascii").split() if path.is_file() else []
    if not text:
        return None
    got = Wanted(int(text[0]), (share / f"{run.seed}.out").read_bytes())
    if got == wanted:
        return ""
    said = (share / f"{run.seed}.err").read_bytes() + got.output[:1000]
    line = next((line for line in said.decode(errors="replace").splitlines() if re.search(r"\w", line)), "")
    ahead = int(text[1]) - path.stat().st_mtime
    clock = f", the guest's clock is {ahead:.0f} s ahead" if abs(ahead) > CLOCK else ""
    return f"status {got.status}{clock}: {line[:80]!a}"


def in_guest(
    guest: machine.Machine, runs: Sequence[Run], work: Path, wanted: dict[str, Wanted],
    tell: Callable[[Run, str], None],
) -> None:
    """Runs in one guest, as many at once as it has processors: idle ones were seen to find less. tell: gets each that
    has ended."""
    with run_directory() as place:
        share = place / "share"
        for lane in range(guest.smp):
            lines = []
            for run in runs[lane::guest.smp]:
                data = ["-o", f"/tmp/lwp.{run.seed}"]
                command = [str(LWPRUN), "--quiet", *run.options(), *data, "--", *words(run.program, work)]
                lines.append(f"{run.seed} {shlex.join(command)}\n")
            (share / f"lane.{lane}").write_text("".join(lines), encoding="utf-8")
        start = 'for lane in "$2"/lane.*; do sh -c "$0" - "$1" "$lane" & done; wait'
        command = ["sh", "-c", start, SCRIPT, str(PATIENCE), GUEST_SHARE]
        status = machine.boot(guest, place, command)
        ended = {run: judge(share, run, wanted[run.program]) for run in runs}
        for run, how in ended.items():
            if how is not None:
                tell(run, how)
        left = [run for run, how in ended.items() if how is None]
        if status == 1 and len(left) < len(runs):
            tell(left[0], "the guest died")
        elif status == 1:
            raise Died("a guest ended before any program did")


def guests_count() -> int:
    """How many guests overload this machine, and fit into its memory."""
    cpus = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return max(1, min(OVERLOAD * cpus * len(SIZES) // sum(SIZES), memory // (2 * GUEST_MEMORY)))


def chunks(runs: Sequence[Run], each: int) -> list[list[Run]]:
    """Runs for a guest each: of one number of processors, at most so many for each of them. Small and large guests run
    side by side."""
    parts = []
    for smp in {run.smp for run in runs}:
        same = [run for run in runs if run.smp == smp]
        parts += [same[at:at + each * smp] for at in range(0, len(same), each * smp)]
    return sorted(parts, key=lambda part: part[0].seed)
