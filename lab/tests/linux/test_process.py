# SPDX-License-Identifier: GPL-2.0-or-later
"""LWP and counts in a process: qemu-x86_64 beside guests and beside what runs natively."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from lab.building import qemu
from lab.common import places, proc
from lab.common.places import LINUX_PROGRAMS
from lab.guest import process
from lab.testing.suite import read
from lab.tests.conftest import Ended, good, run
from lab.tests.linux.test_count import FIRST, count
from lab.tests.linux.test_programs import PRINTED, judge
from lab.tests.linux.tools import VLWP, compiled
from lab.tests.plugin import Points

# Those that run in guests, and points that fail by design (docs/process.md): in a guest a change of GS base is another
# context; QEMU 10.0 leaves huge pages out.
PROGRAMS = {
    "known": [], "segv": [], "fork": [], "two": [], "threads": [], "mlwp": [], "sample": [], "moves": [],
    "gs": [14, 15, 16, 17], "liblwp": [40],
}
LIMIT = 100  # seconds; a program that has lost its way may not end
# A helper retires XSAVE, apart from its TB.
APART = """.globl _start
_start: mov $7, %eax
    xor %edx, %edx
    lea space(%rip), %rdi
    mov $10, %ecx
1:  xsave (%rdi)
    dec %ecx
    jnz 1b
    mov $60, %eax
    xor %edi, %edi
    syscall
    .bss
    .balign 64
space: .skip 4096
"""
SPAWN = """#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
extern char **environ;
int main(int argc, char **argv)
{
    char *words[] = { "word", NULL };
    int status = -1, err;
    pid_t pid;

    err = posix_spawn(&pid, argv[1], NULL, NULL, words, environ);
    if (!err)
        waitpid(pid, &status, 0);
    printf("%d %d\\n", err, status);
    return 0;
}
"""
ENDS = """#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *loop(void *unused)
{
    for (;;)
        asm volatile("");
}
int main(int argc, char **argv)
{
    pthread_t thread;

    pthread_create(&thread, NULL, loop, NULL);
    usleep(100000);
    if (!strcmp(argv[1], "exit"))
        _exit(7);
    if (!strcmp(argv[1], "exec"))
        execl("/bin/true", "true", NULL);
    kill(getpid(), atoi(argv[1]));
    pause();
}
"""


@pytest.fixture(scope="module", autouse=True)
def emulator() -> None:
    """It is built."""
    qemu.ensure_user()


def emulated(*words: proc.Word, options: tuple[str, ...] = ()) -> Ended:
    """A program in a process."""
    return run([places.qemu_user(), "-cpu", process.CPU, "-exec", *options, "--", *words], LIMIT)


def test_process_streams() -> None:
    """Six streams of records are byte for byte those of a guest: each instruction, some, each branch, clocks, marks."""
    program = LINUX_PROGRAMS / "streams"
    mine, theirs = emulated(program), run([VLWP, "shell", "--", program])
    assert mine.status == theirs.status == 0
    lines = mine.out.splitlines()
    assert sum(": " in line for line in lines) == 6 and len(lines) > 30000
    assert lines == theirs.out.splitlines()


@pytest.mark.parametrize("name", PROGRAMS)
def test_process_programs(name: str, points: Points) -> None:
    """The programs that use LWP themselves pass, but for what differs by design."""
    ended = emulated(LINUX_PROGRAMS / f"test_{name}")
    if name in PRINTED:
        assert ended.out == PRINTED[name]
    elif not PROGRAMS[name]:
        judge(ended.out, ended.status, points)
    else:
        tap = read(ended.out)
        failed = [int(number) for number in re.findall(r"^not ok (\d+)", ended.out, re.MULTILINE)]
        assert failed == PROGRAMS[name] or name == "liblwp" and not failed
        points(tap.passed, 0, tap.failed)


def test_process_writer(points: Points) -> None:
    """A ring whose memory another thread takes away, or that lies beside code: each record is whole."""
    ended = emulated(LINUX_PROGRAMS / "writer")
    judge(ended.out, ended.status, points)


@pytest.mark.parametrize("text, instructions, branches", [
    pytest.param(FIRST, 5 + 6 * 1000 + 3, 1000, id="first"), pytest.param(APART, 4 + 3 * 10 + 3, 10, id="apart"),
])
def test_process_count_is_exact(tmp_path: Path, text: str, instructions: int, branches: int) -> None:
    """SYSCALL and REP count as one, and the first instruction counts; so does what a helper retires."""
    counted = count(["--process"], str(compiled(tmp_path / "program.S", text, "-nostdlib", "-static")))
    assert (counted.status, counted.result["runs"]) == (0, [{"instructions": instructions, "branches": branches}])


def test_process_count_follows(tmp_path: Path) -> None:
    """What a program executes is counted with it: a script, its interpreter's children, each of their programs."""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh -e\nls / | wc -l >&2\nexec true\n", encoding="ascii")
    script.chmod(0o755)
    counted = count(["--process"], str(script))
    assert counted.status == 0
    names = [thread["name"] for thread in counted.result["threads"]]
    assert sorted(names) == ["ls", "script", "script", "script", "true", "wc"]
    assert re.search("in a process that sees Linux .*, this machine's files, clock", counted.result["machine"])
    told = run([VLWP, "count", "--process", "--", script])
    assert "\nnot repeatable: 3 threads; count-1 repeats them: leave out --process\n" in told.out


def test_process_one_thread_is_the_same_twice() -> None:
    """For another caller, too; and nobody says that it is not repeatable."""
    both = [
        run([VLWP, "count", "--process", "--", "/usr/bin/sha256sum", "/bin/ls"], env={"MORE": "x" * size})
        for size in (0, 3000)
    ]
    assert both[0].out == both[1].out and "repeatable" not in both[0].out


@pytest.mark.parametrize("how, status, kept", [
    ("exit", 7, True), ("exec", 0, True), ("11", 128 + 11, True), ("9", 128 + 9, False),
])
def test_process_ends(tmp_path: Path, how: str, status: int, kept: bool) -> None:
    """A thread that runs when its process ends, or runs another program, is counted; one that is killed lacks a little,
    which is said."""
    program = compiled(tmp_path / "ends.c", ENDS, "-pthread")
    counted = count(["--process"], str(program), how)
    assert counted.status == status
    most = max(thread["counts"]["instructions"] for thread in counted.result["threads"])
    assert most > 1_000_000
    assert ("killed" not in counted.result["not_counted"]) == kept


def test_process_exec_says_what_the_kernel_says(tmp_path: Path) -> None:
    """A program that is not there, may not be executed, or is none."""
    program = compiled(tmp_path / "spawn.c", SPAWN)
    text = tmp_path / "text"
    text.write_text("no program\n", encoding="ascii")
    loop = tmp_path / "loop"
    loop.write_text(f"#!{loop}\n", encoding="ascii")
    for file, mode in ((text, 0o644), (loop, 0o755)):
        file.chmod(mode)
    names: list[proc.Word] = ["/nonexistent", tmp_path, text, loop, "/bin/true", "/bin/false"]
    for name in names:
        assert emulated(program, name).out == good([program, name]), name
    text.chmod(0o755)
    assert emulated(program, text).out == good([program, text])


def test_process_exec_keeps_what_a_program_sees(tmp_path: Path) -> None:
    """argv[0], /proc/self/exe, the name of the process, the environment, an interpreter's argument."""
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env -S sh -u\necho $0 $# $-\n", encoding="ascii")
    script.chmod(0o755)
    inner = f"echo $0; cat /proc/self/comm; readlink /proc/self/exe; env; {script} a b"
    words = ["/bin/bash", "-c", f"exec -a name sh -c '{inner}'"]
    assert emulated(*words).out == good(words)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a set-user-ID program")
def test_process_set_user_id_is_refused_loudly(tmp_path: Path) -> None:
    """By a line of the emulator's, which is not on the program's standard error."""
    program = compiled(tmp_path / "spawn.c", SPAWN)
    tmp_path.chmod(0o755)
    sudo = tmp_path / "sudo"
    shutil.copy("/bin/true", sudo)
    os.chown(sudo, 1, -1)
    sudo.chmod(0o4755)
    ended = emulated(program, sudo, options=("-messages", str(tmp_path / "messages")))
    assert (ended.out, ended.err) == ("1 -1\n", "")
    said = (tmp_path / "messages").read_text(encoding="utf-8")
    assert f"{sudo}: a program that changes its user or group is not emulated" in said


def test_process_a_closed_standard_error_keeps_messages(tmp_path: Path) -> None:
    """The program sees no descriptor of the emulator."""
    words = ["/bin/sh", "-c", "exec 2>&-; ls -l /proc/self/fd | wc -l"]
    ended = emulated(*words, options=("-messages", str(tmp_path / "messages")))
    assert ended.out == good(words)


def test_process_run_finds_the_hot_function(tmp_path: Path) -> None:
    """run --process names it, and the program's own exit status is the command's."""
    text = "static void hot(void) { for (volatile long i = 0; i < 3000000; i++) ; } int main(void) { hot(); return 4; }"
    ended = run([VLWP, "run", "--process", "--", compiled(tmp_path / "hot.c", text, "-O0", "-g")])
    assert ended.status == 4
    assert re.search(r"^ *(99|100)\.\d+%.* hot +hot", ended.out, re.MULTILINE)


def test_process_ctrl_c_is_the_programs() -> None:
    """The first goes to the program, whose counts are shown."""
    script = "trap 'exit 5' INT; echo on; while :; do :; done"
    # Whatever started the tests may ignore SIGINT, as a shell has its background commands do.
    words = proc.words(["env", "--default-signal=INT", VLWP, "count", "--process", "--", "/bin/sh", "-c", script])
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "on\n"
        child.send_signal(signal.SIGINT)
        said = child.stdout.read()
    assert child.returncode == 130 and re.search(r"^all +\d+", said, re.MULTILINE)


@pytest.mark.parametrize("words, wrong", [
    (["--smp=2"], "--process takes no --smp: there is no guest"),
    (["--net"], "--process takes no --net: there is no guest"),
    (["--taken"], "--process counts instructions and branches, no taken-branches"),
    (["--events=dcache-misses"], "--process counts instructions and branches, no dcache-misses"),
    (["--by=function"], "--process counts no functions: leave out --by"),
])
def test_process_bad_options(words: list[str], wrong: str) -> None:
    """One line says what is wrong."""
    ended = run([VLWP, "count", "--process", *words, "--", "true"])
    assert ended.status == 2 and wrong in ended.err
