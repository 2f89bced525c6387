# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of a build: progress, logs, stamps of what is up to date, locks against a second build."""

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from lab.common import proc
from lab.common.places import BUILD, LOG, RELEASE, TOP
from lab.common.say import Died, alive, duration, say

WORTH_TELLING = 2  # seconds; shorter steps and waits are not reported
LINE_LIMIT = 200  # columns of an error that are shown
ERROR = re.compile(r"(\berror\b|^E: |\bfatal\b|No such file|undefined reference)", re.IGNORECASE)
OWN = "XDG_CACHE_HOME" if RELEASE else "VLWP_BUILD_DIR"  # says where we write
PROGRESS = re.compile(r"^\[(\d+)/(\d+)\]")

Work = Sequence[proc.Word] | Callable[[IO[str]], None]


def make_dir(*dirs: Path) -> None:
    """Create directories of our own, or say why that cannot be."""
    for path in dirs:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise Died(f"cannot create a directory: {path}: {err.strerror}: set {OWN} to a directory of yours") from err
        if not os.access(path, os.W_OK):
            raise Died(f"{path} is not writable: fix its owner, or set {OWN} to a directory of yours")


@contextmanager
def made_whole(place: Path) -> Iterator[Path]:
    """A new folder, which gets its name when all is in it."""
    new = place.with_name(f"{place.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    yield new
    new.rename(place)


def free_space(path: Path) -> int:
    """Free space of the file system of a directory that exists or will exist, in MiB."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free >> 20


def need_space(mib: int, path: Path = BUILD) -> None:
    """Fail early and in one line where a build would fail late."""
    free = free_space(path)
    if free < mib:
        raise Died(f"{path}: {free} MiB free, this step needs {mib} MiB: make room or set VLWP_BUILD_DIR")


def jobs_count() -> int:
    """How many compilers to run at once (VLWP_JOBS; default: one a processor)."""
    text = os.environ.get("VLWP_JOBS", "")
    if text and not re.fullmatch(r"[1-9]\d{0,3}", text):
        raise Died(f"VLWP_JOBS={text}: a number from 1 to 9999 is needed")
    return int(text) if text else len(os.sched_getaffinity(0))


def compiler(name: str = "gcc") -> str:
    """The C compiler, through ccache where that is installed."""
    return f"ccache {name}" if shutil.which("ccache") else name


def arguments(command: str) -> list[str]:
    """What a command line of such a compiler gives to it."""
    words = shlex.split(command)
    return words[2 if Path(words[0]).name == "ccache" else 1:]


class _Progress:
    """What the user sees of a step: how far Ninja is, and the time it took. Off a terminal alive() tells."""

    def __init__(self, title: str, about: int):
        self.title, self.percent = title, 0
        self.begin = time.monotonic()
        self.terminal = sys.stderr.isatty()
        say(f"{title} ..." + (f" (about {duration(about)})" if about else ""))

    def line(self, line: str) -> None:
        """Look at a line of the build's output."""
        match = PROGRESS.match(line)
        if match and int(match[2]):
            self.percent = 100 * int(match[1]) // int(match[2])
            if self.terminal:
                print(f"\rvlwp: {self.title}: {self.percent:3}% ", end="", file=sys.stderr, flush=True)

    def far(self) -> str:
        """How far it is, and how long it will take at this speed."""
        if self.percent < 5:  # too little to tell the speed
            return f"{self.percent}%" if self.percent else ""
        left = self.took() * (100 - self.percent) / self.percent
        return f"{self.percent}%, about {duration(left)} left"

    def end(self) -> None:
        """Clear the line of a terminal."""
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def took(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self.begin


def step(title: str, log_name: str, work: Work, *, about: int = 0, cwd: Path | None = None) -> None:
    """Do one step of a build: a command, or a function that gets the log to write to and raises Died or
    subprocess.CalledProcessError. Shows progress and the expected time (about, in seconds); when the
    step fails, shows the errors in its output and gives up."""
    log_path = LOG / log_name
    make_dir(LOG)
    progress = _Progress(title, about)
    reason = "failed"
    with log_path.open("w", encoding="utf-8", errors="replace") as log, alive(title, progress.far):
        try:
            if callable(work):
                work(log)
                ok = True
            else:
                ok = _run(work, log, progress, cwd) == 0
        except (Died, subprocess.CalledProcessError, OSError) as err:
            ok, reason = False, f"failed: {err}"
    progress.end()
    if not ok:
        if free_space(BUILD) <= 4:
            raise Died(f"{title}: the disk of {BUILD} is full: make room or set VLWP_BUILD_DIR")
        show_errors(log_path)
        raise Died(f"{title}: {reason}; all of its output is in {log_path}")
    if progress.took() >= WORTH_TELLING:
        say(f"{title}: done in {duration(progress.took())}")


def _run(argv: Sequence[proc.Word], log: IO[str], progress: _Progress, cwd: Path | None) -> int:
    child = proc.start(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=cwd,
    )
    assert child.stdout
    try:
        for line in child.stdout:
            log.write(line)
            progress.line(line)
    except BaseException:
        proc.end(child)  # while the lock of this build is held
        raise
    return proc.wait(child)


def show_errors(log_path: Path, count: int = 12) -> None:
    """Show the errors in a log: the lines that look like errors, else its end; never a whole command line."""
    lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if ERROR.search(line) and len(line) < 10 * LINE_LIMIT]
    for line in (errors or lines)[-count:] if not errors else errors[:count]:
        short = line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + " ..."
        print(f"    {short}", file=sys.stderr)


def hash_of(*paths: Path | str) -> str:
    """One hash over names and contents of files and directories, which are relative to the repository."""
    digest = hashlib.sha256()
    for file in sorted(_files(paths)):
        digest.update(f"{file}\0".encode())
        digest.update(hashlib.sha256((TOP / file).read_bytes()).digest())
    return digest.hexdigest()[:32]


def _files(paths: Iterable[Path | str]) -> Iterable[str]:
    for path in paths:
        full = TOP / path
        if full.is_file():
            yield str(path)
        for file in full.rglob("*") if full.is_dir() else ():
            if file.is_file() and "__pycache__" not in file.parts:
                yield str(file.relative_to(TOP))


def fresh(stamp_name: str, key: str) -> bool:
    """Was this built from inputs with this key?"""
    path = BUILD / "stamp" / stamp_name
    return path.is_file() and path.read_text(encoding="utf-8").rstrip("\n") == key


def stamp(stamp_name: str, key: str) -> None:
    """Remember that this was built from inputs with this key."""
    make_dir(BUILD / "stamp")
    (BUILD / "stamp" / stamp_name).write_text(key + "\n", encoding="utf-8")


def stamped(stamp_name: str) -> str:
    """The key that stamp() wrote, "" if there is none."""
    path = BUILD / "stamp" / stamp_name
    return path.read_text(encoding="utf-8").rstrip("\n") if path.is_file() else ""


@contextmanager
def build_lock(part: str) -> Iterator[None]:
    """One build of a part at a time in one build directory."""
    make_dir(BUILD)
    with (BUILD / f".lock-{part}").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Two commands at once look in turn whether there is anything to build: not worth a word.
            told = threading.Timer(WORTH_TELLING, say, [f"waiting for another build of '{part}' in {BUILD} ..."])
            told.start()
            try:
                with alive(f"waiting for another build of '{part}'"):
                    fcntl.flock(file, fcntl.LOCK_EX)
            finally:
                told.cancel()
        yield
