# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp shell promises: output, exit status, directories, and nothing left behind."""

import os
import random
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from lab.building import kernel
from lab.common import proc
from lab.common.places import BUILD
from lab.tests.conftest import run
from lab.tests.linux.tools import VLWP

RANDOM_BYTES = 3_000_000


class Place:
    """A private directory whose name tells our guests, which keep their files in it, from others."""

    def __init__(self, path: Path):
        self.path = path

    def guest(self, *command: str) -> list[str]:
        """The command line of a command in a guest."""
        return ["env", f"TMPDIR={self.path}", str(VLWP), "shell", "--", *command]

    def script(self, text: str, *words: str) -> list[str]:
        """The same for a shell script."""
        return self.guest("/bin/sh", "-c", text, "-", *words)

    def emulators(self) -> list[str]:
        """The emulators whose command lines name it."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if words[0].endswith("qemu-system-x86_64") and any(str(self.path) in word for word in words):
                found.append(f"{entry.name}: {' '.join(words)[:200]}")
        return found

    def left(self) -> list[str]:
        """What a guest has left behind."""
        return self.emulators() + [str(path) for path in self.path.glob("vlwp.*")]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty one."""
    return Place(tmp_path)


def test_guest_command(place: Place) -> None:
    """Arguments, environment and directory arrive as they are; output, errors and exit status come back apart. What a
    guest writes stays in it. Its kernel is told how fast the TSC runs."""
    words = ["a b", "", "line\nbreak", 'x$y"z']
    (place.path / "file").write_text("kept\n", encoding="ascii")
    script = 'pwd; printf "%s\n" "$@" "$VLWP_PROBE"; echo new >file; echo >other; cat file; printf err >&2'
    script += "; grep -o tsc_early_khz /proc/cmdline; exit 37"
    ended = run(place.script(script, *words), cwd=place.path, env={"VLWP_PROBE": "hello"})
    assert (ended.status, ended.err) == (37, "err")
    assert ended.out == "\n".join([str(place.path), *words, "hello", "new", "tsc_early_khz"]) + "\n"
    assert (place.path / "file").read_text(encoding="ascii") == "kept\n"
    assert not (place.path / "other").exists(), "a file is left on the host"


def test_guest_signal(place: Place) -> None:
    """Death by a signal is 128 and the signal."""
    assert run(place.script("kill -SEGV $$")).status == 128 + signal.SIGSEGV


def test_guest_bytes(place: Place, seed: int) -> None:
    """3 MB of random bytes go in and come out."""
    data = random.Random(seed).randbytes(RANDOM_BYTES)
    ended = subprocess.run(place.guest("/bin/cat"), input=data, capture_output=True, check=False)
    assert ended.stdout == data, f"{len(ended.stdout)} bytes came back: {ended.stderr.decode()}"


def test_guest_no_command(place: Place) -> None:
    """A command that is not there is one line and status 127."""
    ended = run(place.guest("/nowhere/program"))
    assert ended.status == 127
    assert "/nowhere/program: No such file" in ended.err and ended.err.count("\n") == 1


def test_guest_counters(place: Place) -> None:
    """--pmu: the guest has one processor with AMD's counters, last branches and IBS, or Intel's; the user's own
    properties come after. Without it there are no counters."""
    words = ["shell", "--pmu", "--", "sh", "-c", "nproc; ls /sys/bus/event_source/devices; dmesg"]
    said = run([VLWP, *words]).out
    assert said.startswith("1\n") and "ibs_op\n" in said and "PMU driver" in said
    assert "Intel PMU driver" in run([VLWP, *words[:2], "--model=Skylake-Client", *words[2:]]).out
    flags = run([VLWP, "shell", "--pmu", "--cpu=-ibs,-ibs-cache", "--", "cat", "/proc/cpuinfo"]).out
    assert " perfmon_v2 " in flags and " ibs " not in flags
    assert "PMU driver" not in run(place.script("dmesg")).out


def test_guest_writes(place: Place) -> None:
    """--rw: the working directory is this machine's, nothing else is; what the command writes there is the user's."""
    (place.path / "inner").mkdir()
    script = "pwd; echo kept >file; mkdir d; rm gone; echo lost >../other; exit 5"
    (place.path / "inner/gone").touch()
    ended = run([VLWP, "shell", "--rw", "--", "sh", "-c", script], cwd=place.path / "inner")
    assert (ended.status, ended.out) == (5, f"{place.path}/inner\n")
    assert (place.path / "inner/file").read_text(encoding="ascii") == "kept\n"
    assert sorted(path.name for path in (place.path / "inner").iterdir()) == ["d", "file"]
    assert (place.path / "inner/d").owner() == (place.path / "inner").owner()
    assert not (place.path / "other").exists(), "another directory was written"


def test_guest_writes_not(place: Place) -> None:
    """--rw says where it cannot be."""
    for word, cwd, text in (
        ("--machine=count-1", place.path, "sees this machine's files"),
        ("--pmu", Path("/"), "the working directory is /"),
    ):
        ended = run([VLWP, "shell", "--rw", word, "--", "true"], cwd=cwd)
        assert ended.status == 2 and ended.said.count("\n") == 1 and text in ended.said


@pytest.mark.parametrize("command, words, text", [
    ("shell", "--cpu=no-such-property=1", "no-such-property' not found"), ("run", "--cpu=lwp-rev=7", "accept value"),
    ("count", "--memory=9000000", "Cannot allocate memory"), ("run", "--pmu-row=zz", "no such item, at 'zz'"),
    ("run", "--pmu-model=zz", "zz"), ("shell", "--model=zz", "unable to find CPU model 'zz'"),
])
def test_guest_refused(command: str, words: str, text: str) -> None:
    """A machine that QEMU does not make is one line, before the boot."""
    ended = run([VLWP, command, words, "--", "true"])
    assert ended.status == 2 and f"vlwp: {words}: " in ended.said and text in ended.said
    assert ended.said.count("\n") == 1


def test_guest_own_kernel(tmp_path: Path) -> None:
    """VLWP_KERNEL boots a kernel of the user's, with the modules beside it."""
    own = tmp_path / "boot/vmlinuz"
    own.parent.mkdir()
    (tmp_path / "lib").symlink_to(kernel.SYSROOT / "lib")
    shutil.copy(kernel.image_file(kernel.SYSROOT), own)
    ended = run([VLWP, "shell", "--", "uname", "-r"], env={"VLWP_KERNEL": str(own)})
    assert ended.out == f"{kernel.version()}\n"
    assert (BUILD / "guest-own/vmlinux").stat().st_mtime_ns >= own.stat().st_mtime_ns


TALK = """import socket, sys
print(open("/etc/resolv.conf").read(), end="")
try:
    with socket.create_connection(("10.0.2.2", int(sys.argv[1]))) as server:
        print(server.makefile().read(), end="")
except OSError as err:
    print(err.strerror)
"""


def test_guest_net(tmp_path: Path) -> None:
    """With --net a guest reaches a server of this machine, and has a name server; without it reaches nothing. The
    machine's own resolv.conf stays."""
    before = Path("/etc/resolv.conf").read_text(encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        words = ["--", "/usr/bin/python3", "-c", TALK, str(server.getsockname()[1])]
        ended = run([VLWP, "shell", "--net", *words], cwd=tmp_path)
        assert (ended.status, ended.out) == (0, "nameserver 10.0.2.3\nfrom outside\n")
        assert run([VLWP, "shell", *words], cwd=tmp_path).out == f"{before}Network is unreachable\n"
    assert Path("/etc/resolv.conf").read_text(encoding="utf-8") == before


def _answer(server: socket.socket) -> None:
    """The first who asks."""
    with server.accept()[0] as one:
        one.sendall(b"from outside\n")


def test_guest_dead(place: Place) -> None:
    """A guest that dies leaves its console, and the message says where."""
    ended = run(place.script("echo c >/proc/sysrq-trigger; sleep 100"))
    assert ended.status == 1
    words = "the console of the guest is in "
    assert words in ended.said
    console = Path(ended.said.rpartition(words)[2].split()[0].rstrip(";,."))
    text = console.read_text(encoding="utf-8", errors="replace")
    console.unlink()
    assert "sysrq triggered crash" in text.lower(), "the console does not say why"


def test_guest_two(place: Place) -> None:
    """Two guests at once do not collide."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
    children = [proc.start(place.guest("/bin/echo", word), **pipes) for word in ("first", "second")]
    assert [child.communicate()[0] for child in children] == ["first\n", "second\n"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
def test_guest_ends(number: signal.Signals, place: Place) -> None:
    """A signal to ./vlwp ends a guest that runs; no process and no file stays.

    The guest says when it runs, so nothing here waits for a time."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    child = proc.start(place.script("echo up; exec sleep 1000"), start_new_session=True, **pipes)
    assert child.stdout
    line = child.stdout.readline()
    assert line == b"up\n" and place.emulators(), f"the guest is not up: {line}"
    if number == signal.SIGINT:
        os.killpg(child.pid, number)  # as a terminal does: to the whole group
    else:
        child.send_signal(number)
    proc.wait(child)
    assert not place.left()
