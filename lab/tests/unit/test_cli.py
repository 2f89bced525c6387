# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp says to bad input: one clear line, and the right exit status."""

import json
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.commands import COMMANDS, OFFERED
from lab.common.bases import qemu_base
from lab.common.places import PYTHON, TOP
from lab.common.say import SKIPPED
from lab.common.steps import jobs_count
from lab.start.build import PARTS
from lab.tests.conftest import Ended, good, run

VLWP = str(TOP / "vlwp")
HELP_LINES, HELP_COLUMNS = 30, 80
CALLED = Path(__file__).with_name("called.py")
# $0: the completion; then the words of a command line.
COMPLETED = """source "$0"; compopt() { :; }; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_vlwp "$1"; printf "%s\\n" "${COMPREPLY[@]}" """

# (what, exit status, text in the only line, words)
REFUSED: tuple[tuple[str, int, str, str], ...] = (
    ("an unknown command", 2, "no command 'frobnicate'; './vlwp help'", "frobnicate"),
    ("a mistyped command that resembles one", 2, "no command 'shel'; is it shell?", "shel"),
    ("a mistyped part", 2, "bench: no part 'kvmm'; is it kvm?", "bench kvmm"),
    ("a mistyped option", 2, "count: no option '--repaet=3'; is it --repeat?", "count --repaet=3 -- /bin/true"),
    ("deps with an argument", 2, "no argument 'now'", "deps now"),
    ("an unknown part of build", 2, "'linux'", "build linux"),
    ("two parts of build", 2, "no argument 'guest'", "build qemu guest"),
    ("an unknown part of test", 2, "no part 'nothing'", "test nothing"),
    ("an unknown test", 2, "no test 'nothing'", "test flat nothing"),
    ("a name after two parts", 2, "after one part", "test flat linux retry"),
    ("a part without machines under gdb", 2, "flat or linux", "test --gdb unit"),
    ("results of more than one session", 2, "name them", "test lab flat --junitxml=FILE"),
    ("an unknown soak", 2, "no part 'nothing'", "soak nothing"),
    ("moves under KVM", 2, "--migrate is for TCG", "soak results --migrate --accel=kvm"),
    ("a skid that is none", 2, "the skid is a number", "bench kvm soon"),
    ("an unknown option of run", 2, "no option '--frob'", "run --frob"),
    ("a program without --", 2, "goes after --", "run /bin/true"),
    ("nothing after --", 2, "no command after --", "shell --"),
    ("an unknown accelerator", 2, "invalid choice: 'xen'", "shell --accel=xen"),
    ("no processors", 2, "number of processors", "shell --smp=0"),
    ("too little memory", 2, "memory in MiB from 256", "shell --memory=1"),
    ("a program that is not there", 1, "no such program", "run -- /nowhere/program"),
    ("a count without a program", 2, "Give a program after --", "count"),
    ("a limit that is none", 2, "is not EVENT:N", "count --max=cycles:1 -- /bin/true"),
    ("an event that is none", 2, "no event 'cycles'; there are: ", "count --events=branches,cycles -- /bin/true"),
    ("no event", 2, "no event ''", "count --events= -- /bin/true"),
    ("a limit of what is not counted", 2, "which --events leaves out",
     "count --events=branches --max=instructions:1 -- /bin/true"),
    ("misses of a guest that may have no caches", 1, "dcache-misses are counted without lwp- properties",
     "count --events=dcache-misses --cpu=lwp-rev=2007 -- /bin/true"),
    ("another machine", 2, "is not count-1[,seed=N][,whole]", "count --machine=count-2 -- /bin/true"),
    ("processors of a machine that has one", 2, "--smp: count-1 is one machine", "run --machine=count-1 --smp=2"),
    ("nothing to run where nothing is typed", 2, "a command after --", "shell --machine=count-1"),
    ("all files of this machine", 2, "whole needs --root=DIR", "count --machine=count-1,whole -- /bin/true"),
    ("a profile that nobody sees grow", 2, "--live: ", "run --machine=count-1 --live -- /bin/true"),
    ("a root that is not there", 1, "no such directory", "run --root=/nowhere -- /bin/true"),
    ("a program that the root has not", 1, "no such program in /proc/self", "run --root=/proc/self -- /bin/true"),
    ("a capsule and a program", 2, "--capsule has a program", "count --capsule=/etc/passwd -- /bin/true"),
    ("a capsule that is none", 1, "/etc/passwd: no capsule of ./vlwp freeze", "count --capsule=/etc/passwd"),
    ("nothing to freeze", 2, "Give a program after --", "freeze -o FILE"),
    ("no runs", 2, "number of runs", "count --repeat=0 -- /bin/true"),
    ("a program that is not there, under KVM", 1, "no such program", "run --accel=kvm -- /nowhere/program"),
    ("a file that is no program", 1, "not executable", "run -- /etc/passwd"),
    ("a directory for a program", 1, "a directory", "run -- /etc"),
    ("a data file that cannot be written", 1, "cannot write this file", "run --data=/nowhere/data"),
    ("an option that the report has not", 2, "unrecognized option '--frob'", "run --report=--frob -- /bin/true"),
    ("an event that lwprun has not", 2, "unknown event 'foo'; the events are ", "run --lwprun=--event=foo -- /bin/ls"),
    ("an interval that is none", 2, "interval '1x' is not a number", "run --lwprun=-ebranches:1x -- /bin/true"),
    ("windows beside events", 2, "does not go with --windows", "run --lwprun=-ebranches --lwprun=--windows -- /bin/ls"),
    ("a process of the guest", 2, "--pid does not go with a program", "run --lwprun=--pid=1 -- /bin/true"),
    ("a program among lwprun's options", 2, "'/bin/id' are no options that record", "run --lwprun=/bin/id -- /bin/ls"),
    ("an option of lwprun that runs nothing", 2, "nothing would run", "run --lwprun=--help -- /bin/true"),
    ("a network of count-1", 2, "--net: count-1 is one machine", "shell --net --machine=count-1 -- true"),
    ("a network in the lab", 2, "--net: the nested lab has no network", "run --net --accel=kvm"),
    ("an export without a directory", 2, "DIR", "export"),
    ("a base that is not there", 2, "no base 'qemu-9'; there are: linux-", "build qemu --base=qemu-9"),
    ("patches of a base that is not there", 2, "no base 'qemu-9'; there are: linux qemu libvirt ", "patch edit qemu-9"),
    ("a rebase to nothing", 2, "VERSION", "patch rebase qemu"),
    ("a part of a soak that has none", 2, "--part is for suites", "soak same --part=1/20"),
    ("a part beyond the last", 2, "is not a part of some, as 1/20", "soak suites --part=21/20"),
    ("two QEMUs", 2, "one kernel and one QEMU at most", "test flat --base=qemu-10.0,qemu-10.0"),
)

# The same with something in the environment: (what, variable, value, exit status, text, words)
REFUSED_WITH: tuple[tuple[str, str, str, int, str, str], ...] = (
    ("a build directory that cannot be", "VLWP_BUILD_DIR", "/proc/nowhere", 1, "cannot create a directory",
     "build qemu"),
    ("a tarball that is not there", "VLWP_QEMU_TARBALL", f"/nowhere/qemu-{qemu_base().series}.1.tar.xz", 1,
     "cannot read this tarball", "build qemu"),
    ("an emulator that is not there", "VLWP_QEMU", "/nowhere/qemu", 1, "no program there", "shell -- true"),
    ("another tree than kvm-unit-tests", "VLWP_KUT", "/nowhere", 1, "no tree of kvm", "soak kvm-unit-tests --list"),
    ("a kernel that is none", "VLWP_KERNEL", "/etc/passwd", 1, "not a Linux bzImage", "build guest"),
    ("a kernel that is not there", "VLWP_KERNEL", "/nowhere/bzImage", 1, "No such file", "build guest"),
    ("a base in the environment", "VLWP_BASE", "nonsense", 2, "no base 'nonsense'", "build tools"),
    ("a number of compilers that is none", "VLWP_JOBS", "many", 1, "number from 1", "build tools"),
)
QUIET = ["deps", "uninstall kvm"]  # what these do as root they do without a word


def called(lines: Sequence[Sequence[str]], build: str) -> list[Ended]:
    """How each command line ends, without a start of Python for each."""
    env = {**os.environ, "VLWP_BUILD_DIR": build}
    done = subprocess.run(
        [PYTHON, "-B", "-s", CALLED], input=json.dumps(lines), env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    ended = [Ended(status, out, "") for status, out in json.loads(done.stdout)]
    for words, one in zip(lines, ended, strict=True):
        print(f"$ ./vlwp {' '.join(words)}\n{one.out}[status {one.status}]")
    return ended


def _one_line(ended: Ended, status: int, text: str) -> None:
    lines = [line for line in ended.said.splitlines() if not line.startswith("== ")]
    assert ended.status == status and len(lines) == 1 and text in lines[0], f"wanted {status}, one line, {text!r}"


def test_refused(tools_built: None) -> None:
    """Bad words: each in turn, in one process."""
    lines = [words.split() for _, _, _, words in REFUSED]
    for (what, status, text, _), ended in zip(REFUSED, called(lines, os.environ["VLWP_BUILD_DIR"]), strict=True):
        print(what)
        _one_line(ended, status, text)


@pytest.mark.parametrize("variable, value, status, text, words", [
    pytest.param(*row, id=what.replace(" ", "-")) for what, *row in REFUSED_WITH
])
def test_refused_with(variable: str, value: str, status: int, text: str, words: str) -> None:
    """Something bad in the environment."""
    _one_line(run([VLWP, *words.split()], env={variable: value}), status, text)


def test_help_fits() -> None:
    """The overview of help fits a screen."""
    lines = good([VLWP, "help"]).splitlines()
    assert len(lines) <= HELP_LINES and max(map(len, lines)) <= HELP_COLUMNS


def _named() -> list[list[str]]:
    """Every command and every part of one."""
    return [words for c in COMMANDS for words in [[c.name], *([c.name, part.name] for part in c.parts)]]


def test_help_everywhere(tmp_path: Path) -> None:
    """Every command and part answers --help, and `help NAME`, and starts nothing: not even a build directory."""
    lines = [[*words, "--help"] for words in _named()] + [["help", command.name] for command in COMMANDS]
    for words, ended in zip(lines, called(lines, str(tmp_path / "build")), strict=True):
        name = " ".join(words[1:] if words[0] == "help" else words[:-1])
        assert ended.status == 0 and ended.out.startswith(f"usage: ./vlwp {name}"), words
    assert not os.listdir(tmp_path)


def _completed(*words: str) -> set[str]:
    """How bash goes on behind `words`, the last of which is not finished."""
    return set(good(["bash", "-c", COMPLETED, TOP / "lab/completion.bash", VLWP, *words]).split())


def test_completion() -> None:
    """In bash: commands, parts, options, the file that a program is."""
    assert _completed("") == {"help", *(command.name for command in OFFERED)}
    for command in OFFERED:
        assert {part.name for part in command.parts} <= _completed(command.name, "")
    assert {"unit", "linux", "libvirt"} < _completed("test", "") and set(PARTS) <= _completed("build", "")
    assert _completed("count", "--ma") == {"--machine", "--max", "--markdown"}
    assert _completed("soak", "mutants-kvm", "--sh") == {"--share"}
    assert _completed("run", "--", "/dev/nul") == {"/dev/null"}


def test_never_a_traceback() -> None:
    """Every command and part with no word and a wrong one. Nothing can be built there, so what needs no word ends
    early, too."""
    lines = [line for words in _named() for line in (words, [*words, "frobnicate"]) if " ".join(line) not in QUIET]
    for words, ended in zip(lines, called(lines, "/proc/nowhere"), strict=True):
        assert ended.status in (1, 2, SKIPPED) and ended.out and "Traceback" not in ended.out, words


def test_never_a_traceback_elsewhere(tmp_path: Path) -> None:
    """Every command through a symbolic link in another directory, with each standard stream closed in turn."""
    (tmp_path / "link").symlink_to(VLWP)
    lines = [[command.name] for command in COMMANDS] + [[], ["--", "x"], ["--base"], ["help", "nothing"], ["--help"]]
    env = {"VLWP_BUILD_DIR": "/proc/nowhere", "PYTHONUNBUFFERED": ""}  # which hides that a stream cannot be flushed

    def ends_well(at: int) -> str:
        words, closed = lines[at], at % 3
        ended = run(["bash", "-c", f'exec "$@" {closed}>&-', "-", "./link", *words], cwd=tmp_path, env=env)
        allowed = (0,) if words in (["--help"], ["deps"]) else (1, 2, SKIPPED)
        told = ended.said or words == ["deps"] or closed
        right = ended.status in allowed and told and "Traceback" not in ended.said
        return "" if right else f"./vlwp {' '.join(words)}, {closed} closed: status {ended.status}"

    with ThreadPoolExecutor(jobs_count()) as pool:
        assert not [wrong for wrong in pool.map(ends_well, range(len(lines))) if wrong]


def test_quick_deps() -> None:
    """deps is quick when nothing is missing: in processor time, which the load of the machine hardly changes."""
    before = os.times()
    good([VLWP, "deps"])
    after = os.times()
    assert after.children_user + after.children_system - before.children_user - before.children_system < 1


@pytest.fixture
def namespaces() -> None:
    """Of a user's own."""
    if run(["unshare", "-rn", "true"]).status:
        pytest.skip("needs user namespaces, which this machine does not allow")


def test_without_network(namespaces: None, tmp_path: Path) -> None:
    """A build when nothing can be reached, in a network name space without interfaces."""
    env = {"VLWP_BUILD_DIR": str(tmp_path)}
    ended = run(["unshare", "-rn", VLWP, "build", "qemu"], env=env)
    assert ended.status == 1 and "check the network" in ended.said


def test_full_disk(namespaces: None) -> None:
    """A build directory on a file system without room."""
    script = 'mount -t tmpfs -o size=1M none /mnt && VLWP_BUILD_DIR=/mnt "$0" build qemu'
    _one_line(run(["unshare", "-rm", "bash", "-c", script, VLWP]), 1, "this step needs")
