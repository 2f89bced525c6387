# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp says to bad input: one clear line, and the right exit status."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial

from lab.commands import COMMANDS
from lab.common.bases import qemu_base
from lab.common.beside import side_by_side
from lab.common.places import TOP
from lab.common.report import Check, Report
from lab.common.say import SKIPPED
from lab.common.steps import jobs_count

VLWP = str(TOP / "vlwp")
HELP_LINES, HELP_COLUMNS = 30, 80

# (what, exit status, text in the only line, words)
REFUSED: tuple[tuple[str, int, str, str], ...] = (
    ("an unknown command", 2, "no command 'frobnicate'", "frobnicate"),
    ("deps with an argument", 2, "no argument 'now'", "deps now"),
    ("an unknown part of build", 2, "'linux'", "build linux"),
    ("two parts of build", 2, "no argument 'guest'", "build qemu guest"),
    ("an unknown part of test", 2, "no part 'nothing'", "test nothing"),
    ("an unknown test", 2, "no test 'nothing'", "test flat nothing"),
    ("a name behind two parts", 2, "after one part", "test flat linux retry"),
    ("a part without machines under gdb", 2, "flat or linux", "test --gdb unit"),
    ("an unknown soak", 2, "no part 'nothing'", "soak nothing"),
    ("a skid that is none", 2, "the skid is a number", "bench kvm --exits soon"),
    ("an unknown option of run", 2, "no option '--frob'", "run --frob"),
    ("a program without --", 2, "goes after --", "run /bin/true"),
    ("nothing after --", 2, "no command after --", "shell --"),
    ("an unknown accelerator", 2, "invalid choice: 'xen'", "shell --accel=xen"),
    ("no processors", 2, "number of processors", "shell --smp=0"),
    ("too little memory", 2, "memory is 256", "shell --memory=1"),
    ("a program that is not there", 1, "no such program", "run -- /nowhere/program"),
    ("a count without a program", 2, "Give a program after --", "count"),
    ("a limit that is none", 2, "is not EVENT:N", "count --max=cycles:1 -- /bin/true"),
    ("an event that is none", 2, "no event 'cycles'; there are: ", "count --events=branches,cycles -- /bin/true"),
    ("no event", 2, "no event ''", "count --events= -- /bin/true"),
    ("a limit of what is not counted", 2, "which --events leaves out",
     "count --events=branches --max=instructions:1 -- /bin/true"),
    ("misses of a guest that may have no caches", 1, "dcache-misses are counted under TCG only",
     "count --events=dcache-misses --cpu=lwp-rev=2007 -- /bin/true"),
    ("no runs", 2, "number of runs", "count --repeat=0 -- /bin/true"),
    ("a program that is not there, under KVM", 1, "no such program", "run --accel=kvm -- /nowhere/program"),
    ("a file that is no program", 1, "not executable", "run -- /etc/passwd"),
    ("a directory for a program", 1, "a directory", "run -- /etc"),
    ("a data file that cannot be written", 1, "cannot write this file", "run --data=/nowhere/data"),
    ("an option that the report has not", 2, "unrecognized option '--frob'", "run --report=--frob -- /bin/true"),
    ("an export without a directory", 2, "DIR", "export"),
    ("a base that is not there", 2, "no base 'qemu-9'; there are: linux-", "build qemu --base=qemu-9"),
    ("two QEMUs", 2, "one kernel and one QEMU at most", "test flat --base=qemu-10.0,qemu-10.2"),
)

# The same with something in the environment: (variable, value, ...)
REFUSED_WITH: tuple[tuple[str, str, str, int, str, str], ...] = (
    (
        *("VLWP_BUILD_DIR", "/proc/nowhere", "a build directory that cannot be"),
        *(1, "cannot create a directory", "build qemu"),
    ),
    (
        *("VLWP_QEMU_TARBALL", f"/nowhere/qemu-{qemu_base().series}.1.tar.xz", "a tarball that is not there"),
        *(1, "cannot read this tarball", "build qemu"),
    ),
    ("VLWP_QEMU", "/nowhere/qemu", "an emulator that is not there", 1, "no program there", "shell -- true"),
    ("VLWP_BASE", "nonsense", "a base in the environment", 2, "no base 'nonsense'", "build tools"),
    ("VLWP_JOBS", "many", "a number of compilers that is none", 1, "number from 1", "build tools"),
)


def refused(check: Check, status: int, text: str, words: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    """./vlwp ends with this exit status, and its only line has this text."""
    got, out = check.text([VLWP, *words], stderr=True, env=env)
    check.want(got == status, f"exit status {got}, wanted {status}")
    lines = [line for line in out.splitlines() if not line.startswith("== ")]
    check.want(len(lines) == 1 and text in lines[0], f"wanted one line with '{text}'")


def help_fits(check: Check) -> None:
    """The overview fits a screen."""
    _, out = check.text([VLWP, "help"])
    lines = out.splitlines()
    check.want(len(lines) <= HELP_LINES, f"{len(lines)} lines")
    check.want(max(map(len, lines)) <= HELP_COLUMNS, f"{max(map(len, lines))} columns")


def _called(lines: Sequence[Sequence[str]], build: str) -> list[tuple[list[str], int, str]]:
    """Each line with its exit status and output, without a start of Python for each."""
    argv = ["/usr/bin/python3", "-B", "-s", str(TOP / "lab/checks/called.py")]
    env = {**os.environ, "VLWP_BUILD_DIR": build}
    run = subprocess.run(argv, input=json.dumps(lines), env=env, stdout=subprocess.PIPE, text=True, check=True)
    ended = json.loads(run.stdout)
    return [(list(words), status, out) for words, (status, out) in zip(lines, ended, strict=True)]


def _named() -> list[list[str]]:
    """Every command and every part of one."""
    return [words for c in COMMANDS for words in [[c.name], *([c.name, part.name] for part in c.parts)]]


def help_everywhere(check: Check) -> None:
    """Every command and part answers --help, and `help NAME`, and starts nothing: not even a build directory."""
    with tempfile.TemporaryDirectory() as work:
        lines = [[*words, "--help"] for words in _named()] + [["help", command.name] for command in COMMANDS]
        for words, status, out in _called(lines, f"{work}/build"):
            name = " ".join(words[1:] if words[0] == "help" else words[:-1])
            check.want(status == 0 and out.startswith(f"usage: ./vlwp {name}"), f"{words}: no help")
        check.want(not os.listdir(work), "help has started something")


def never_a_traceback(check: Check) -> None:
    """Every command and part with no word and a wrong one, and every command through a symbolic link in another
    directory, with each standard stream closed in turn. Nothing can be built there, so what needs no word ends early,
    too."""
    lines = [line for words in _named() for line in (words, [*words, "frobnicate"])]
    lines = [line for line in lines if line not in (["deps"], ["uninstall", "kvm"])]  # root would have it done
    for words, status, out in _called(lines, "/proc/nowhere"):
        check.say(f"{words}: {status}\n{out}")
        right = status in (1, 2, SKIPPED) and out and "Traceback" not in out
        check.want(right, f"./vlwp {' '.join(words)}: status {status}")
    whole = [[command.name] for command in COMMANDS] + [[], ["--", "x"], ["--base"], ["help", "nothing"], ["--help"]]
    with tempfile.TemporaryDirectory() as work:
        os.symlink(VLWP, f"{work}/link")
        side_by_side([partial(_ends_well, check, work, line, at % 3) for at, line in enumerate(whole)], jobs_count())


def _ends_well(check: Check, work: str, words: Sequence[str], closed: int) -> None:
    env = {**os.environ, "VLWP_BUILD_DIR": "/proc/nowhere"}
    argv = ["bash", "-c", f'exec "$@" {closed}>&-', "-", "./link", *words]
    run = subprocess.run(argv, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    check.say(f"{words}, {closed} closed: {run.returncode}\n{run.stdout}{run.stderr}")
    allowed = (0,) if "--help" in words or words == ["deps"] else (1, 2, SKIPPED)
    told = run.stdout + run.stderr or words == ["deps"] or closed
    right = run.returncode in allowed and told and "Traceback" not in run.stderr
    check.want(right, f"./vlwp {' '.join(words)}, {closed} closed: status {run.returncode}")


def without_network(check: Check) -> None:
    """A build when nothing can be reached, in a network name space without interfaces."""
    with tempfile.TemporaryDirectory() as work:
        env = {"VLWP_BUILD_DIR": work}
        status, out = check.text(["unshare", "-rn", VLWP, "build", "qemu"], stderr=True, env=env)
    check.want(status == 1 and "check the network" in out, f"status {status}")


def full_disk(check: Check) -> None:
    """A build directory on a file system without room."""
    script = 'mount -t tmpfs -o size=1M none /mnt && VLWP_BUILD_DIR=/mnt "$0" build qemu'
    status, out = check.text(["unshare", "-rm", "bash", "-c", script, VLWP], stderr=True)
    check.want(status == 1 and "this step needs" in out and out.count("\n") == 1, f"status {status}")


def quick_deps(check: Check) -> None:
    """deps is quick when nothing is missing: in processor time, which the load of the machine hardly changes."""
    before = os.times()
    check.run([VLWP, "deps"])
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    check.say(f"{seconds:.2f} s")
    check.want(seconds < 1, "a second or more")


def run(report: Report) -> None:
    """All of them."""
    for what, status, text, words in REFUSED:
        report.check(f"cli: {what}", refused, status, text, words.split())
    for variable, value, what, status, text, words in REFUSED_WITH:
        report.check(f"cli: {what}", refused, status, text, words.split(), {variable: value})
    report.check("cli: the overview of help fits a screen", help_fits)
    report.check("cli: every command answers --help and starts nothing", help_everywhere)
    report.check("cli: no command ends with a traceback", never_a_traceback)
    report.check("cli: deps is quick when nothing is missing", quick_deps)
    if subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        report.check("cli: a build without network", without_network)
        report.check("cli: a full disk", full_disk)
    else:
        report.skip("cli: no network, full disk: this machine allows no user namespaces")
