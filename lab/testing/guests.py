# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp shell promises: output, exit status, directories, and nothing left behind."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lab.common import proc
from lab.common.places import TOP
from lab.common.report import Check

VLWP = str(TOP / "vlwp")
RANDOM_BYTES = 3000000


class Place:
    """A private directory whose name tells our guests from others."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def env(self) -> dict[str, str]:
        """Guests keep their files in it."""
        return {"TMPDIR": str(self.path)}

    def guest(self, *command: str) -> list[str]:
        """The command line of a command in a guest."""
        return ["env", f"TMPDIR={self.path}", VLWP, "shell", "--", *command]

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


def _run(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[bytes]":
    options.setdefault("stdin", subprocess.DEVNULL)
    run: "subprocess.CompletedProcess[bytes]" = subprocess.run(command, capture_output=True, check=False, **options)
    return run


def streams_and_status(check: Check, place: Place) -> None:
    """Output, errors and exit status come back apart."""
    got = _run(place.guest("/bin/sh", "-c", "printf out; printf err >&2; exit 37"))
    check.say(got)
    check.want((got.returncode, got.stdout, got.stderr) == (37, b"out", b"err"), "not what was written")


def death_by_signal(check: Check, place: Place) -> None:
    """A command that a signal kills has that exit status."""
    status = check.call(place.guest("/bin/sh", "-c", "kill -SEGV $$"))
    check.want(status == 128 + signal.SIGSEGV, f"status {status}")


def every_byte(check: Check, place: Place) -> None:
    """Random bytes go in and come out."""
    data = os.urandom(RANDOM_BYTES)
    got = _run(place.guest("/bin/cat"), stdin=None, input=data)
    check.want(got.stdout == data, f"{len(got.stdout)} bytes came back: {got.stderr.decode()}")


def arguments_and_place(check: Check, place: Place) -> None:
    """Arguments, environment and directory arrive as they are."""
    words = ["a b", "", "line\nbreak", 'x$y"z']
    script = 'pwd; printf "%s\\n" "$@" "$VLWP_PROBE"'
    env = {**os.environ, "VLWP_PROBE": "hello"}
    got = _run(place.guest("/bin/sh", "-c", script, "-", *words), cwd=place.path, env=env)
    check.say(got)
    check.want(got.stdout.decode() == "\n".join([str(place.path), *words, "hello"]) + "\n", "they differ")


def host_untouched(check: Check, place: Place) -> None:
    """What a guest writes stays in it."""
    (place.path / "file").write_text("kept\n", encoding="ascii")
    script = "echo changed >file; echo new >other; cat file"
    got = _run(place.guest("/bin/sh", "-c", script), cwd=place.path)
    check.say(got)
    kept = (place.path / "file").read_text(encoding="ascii")
    check.want(got.stdout == b"changed\n" and kept == "kept\n", "the host's file has changed")
    check.want(not (place.path / "other").exists(), "a file is left on the host")


def no_such_command(check: Check, place: Place) -> None:
    """A command that is not there is one line and status 127."""
    got = _run(place.guest("/nowhere/program"))
    check.say(got)
    text = got.stderr.decode()
    check.want(got.returncode == 127, f"status {got.returncode}")
    check.want("/nowhere/program: No such file" in text and text.count("\n") == 1, "not that one line")


def bad_property(check: Check, _place: Place) -> None:
    """An unknown CPU property is one line."""
    status, out = check.text([VLWP, "shell", "--cpu=no-such-property=1", "--", "true"], stderr=True)
    check.want(status == 1 and "no-such-property" in out and out.count("\n") == 1, "not that one line")


def dead_guest(check: Check, place: Place) -> None:
    """A guest that dies leaves its console, and the message says where."""
    script = "echo c >/proc/sysrq-trigger; sleep 100"
    status, out = check.text(place.guest("/bin/sh", "-c", script), stderr=True)
    check.want(status == 1, f"status {status}")
    check.want("the console of the guest is in " in out, "the message does not say where")
    console = Path(out.rpartition("the console of the guest is in ")[2].split()[0].rstrip(";,."))
    text = console.read_text(encoding="utf-8", errors="replace")
    console.unlink()
    check.want("sysrq triggered crash" in text.lower(), "the console does not say why")


def two_at_once(check: Check, place: Place) -> None:
    """Two guests at once do not collide."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
    children = [proc.start(place.guest("/bin/echo", word), **pipes) for word in ("first", "second")]
    outputs = [child.communicate()[0] for child in children]
    check.say(outputs)
    check.want(outputs == ["first\n", "second\n"], "not what each has said")


def ends_by(check: Check, place: Place, number: signal.Signals) -> None:
    """A guest that runs is ended by a signal to ./vlwp; no process and no file stays. The guest says when it runs, so
    nothing here waits for a time."""
    command = place.guest("/bin/sh", "-c", "echo up; exec sleep 1000")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    child = proc.start(command, start_new_session=True, **pipes)
    assert child.stdout
    line = child.stdout.readline()
    check.want(line == b"up\n" and place.emulators(), f"the guest is not up: {line}")
    if number == signal.SIGINT:
        os.killpg(child.pid, number)  # as a terminal does: to the whole group
    else:
        child.send_signal(number)
    proc.wait(child)
    check.want(not place.left(), f"left: {place.left()}")


CHECKS: tuple[tuple[str, str, Callable[..., None], tuple[object, ...]], ...] = (
    ("streams", "guest: output, errors and exit status come back apart", streams_and_status, ()),
    ("signal", "guest: death by a signal is 128 and the signal", death_by_signal, ()),
    ("bytes", "guest: 3 MB of random bytes go in and come out", every_byte, ()),
    ("arguments", "guest: arguments, environment and directory arrive as they are", arguments_and_place, ()),
    ("writes", "guest: what it writes stays in it", host_untouched, ()),
    ("no-command", "guest: a command that is not there", no_such_command, ()),
    ("bad-property", "guest: an unknown CPU property is one line", bad_property, ()),
    ("dead", "guest: one that dies leaves its console, and the message says where", dead_guest, ()),
    ("two", "guest: two at once", two_at_once, ()),
    ("ctrl-c", "guest: Ctrl-C leaves nothing behind", ends_by, (signal.SIGINT,)),
    ("term", "guest: SIGTERM leaves nothing behind", ends_by, (signal.SIGTERM,)),
)


def run(check: Check, function: Callable[..., None], *args: object) -> None:
    """One of them, in a private directory."""
    with tempfile.TemporaryDirectory(prefix="vlwp-boot.") as name:
        function(check, Place(Path(name)), *args)
