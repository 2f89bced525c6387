# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl says to files that it cannot read or write: one line that names the file, and status 1."""

from collections.abc import Callable, Sequence
from pathlib import Path

from lab.common.report import Check
from lab.testing.sample import LWPCTL, SAMPLE

FILE, OTHER, OUT = "FILE", "OTHER", "OUT"  # in command lines: the bad one, a good one, and what must not be left
LIMIT = ("timeout", "60")  # seconds
NO_PROFILE = "not an lwpdata file"
# name: what is bad of it, and what the line says
PROFILES = {
    "missing": "No such file", "folder": "not a regular file", "empty": "empty", "program": NO_PROFILE,
    "text": NO_PROFILE, "cut": "the section says", "device": "not a regular file",
}
READERS: Sequence[Sequence[str]] = (
    ("report", FILE), ("report", "--json", FILE), ("html", "-o", OUT, FILE), ("annotate", "main", FILE),
    ("decode", FILE), ("export", "--format=csv", "-o", OUT, FILE), ("export", "--format=perf", "-o", OUT, FILE),
    ("merge", "-o", OUT, FILE), ("merge", "-o", OUT, OTHER, FILE), ("diff", FILE, OTHER), ("diff", OTHER, FILE),
    ("top", FILE),
)
GROW = ("missing", "empty", "cut")  # top waits for the rest of these
HOSTS: Sequence[Sequence[str]] = (("baseline", FILE), ("check", FILE, OTHER))
WRITERS: Sequence[Sequence[str]] = (
    ("html", "-o", OUT, OTHER), ("merge", "-o", OUT, OTHER, OTHER),
    *(("export", f"--format={form}", "-o", OUT, OTHER) for form in ("perf", "pprof", "firefox", "callgrind", "csv")),
)
STDOUT: Sequence[Sequence[str]] = (
    ("report", OTHER), ("report", "--json", OTHER), ("decode", OTHER), ("annotate", "sample_hot", OTHER),
    ("diff", "--all", OTHER, OTHER), ("top", OTHER), ("html", OTHER), ("export", "--format=csv", OTHER), ("--help",),
)
FULL = "/dev/full"
OUTPUTS = {"/nowhere/out": "No such file", "folder": "directory", FULL: ""}


# Wrong usage: exit status 2.
WRONG: Sequence[tuple[Sequence[str], str]] = (
    ((), "no command"), (("frobnicate",), "frobnicate"), (("report", OTHER, OTHER), "more than one file"),
    (("report", "--until=0", OTHER), "no sample lies before the start"), (("report", "--from=x", OTHER), "no time"),
    (("report", "--from=-1", OTHER), "no time"), (("report", "--by=nothing", OTHER), "not a list of"),
    (("report", "--sort=x", OTHER), "neither samples nor name"), (("report", "--event=x", OTHER), "unknown event"),
    (("report", "--format=x", OTHER), "no format 'x'"), (("report", "--limit=-1", OTHER), "not a number"),
    (("top", "--delay=0", OTHER), "no time"), (("top", "--frames=x", OTHER), "not a number"),
    (("export", OTHER), "--format"), (("export", "--format=x", OTHER), "no format 'x'"), (("annotate",), "function"),
    (("diff", OTHER), "two files"), (("merge",), "the files"), (("decode", "--lwp-rev=7", OTHER), "neither 43724"),
    (("explain", "foo=1"), "expected"), (("explain", "eax="), "32 bits"), (("caps", "--accel=xen"), "kvm or tcg"),
    (("baseline",), "the hosts"), (("check", OTHER), "one host"),
)


def _make(check: Check) -> None:
    data = check.work / OTHER
    check.run([SAMPLE, data])
    (check.work / "folder").mkdir(exist_ok=True)
    (check.work / "empty").write_bytes(b"")
    (check.work / "program").write_bytes(LWPCTL.read_bytes()[:100000])
    (check.work / "text").write_text("hello\n", encoding="ascii")
    (check.work / "cut").write_bytes(data.read_bytes()[:700])
    if not (check.work / "device").is_symlink():
        (check.work / "device").symlink_to("/dev/zero")


def _one_line(check: Check, words: Sequence[str | Path], name: str, text: str) -> None:
    status, said = check.text([*LIMIT, LWPCTL, *words], stderr=True, cwd=check.work)
    line = said.count("\n") == 1 and said.startswith("lwpctl: ") and name in said and text in said
    check.want(status == 1 and line, f"{words}: status {status}, {said[:200]!r}, wanted {text!r}")


def _read(check: Check) -> None:
    """Each command, each kind of bad file."""
    _make(check)
    for command in READERS:
        for name, text in PROFILES.items():
            if command[0] == "top" and name in GROW:
                continue
            _one_line(check, [name if word == FILE else word for word in command], name, text)
            check.want(not (check.work / OUT).exists(), f"{command}, {name}: a file is left")


def _hosts(check: Check) -> None:
    """Descriptions of processors."""
    _make(check)
    for command in HOSTS:
        for name in PROFILES:
            _one_line(check, [name if word == FILE else word for word in command], name, "")


def _written(check: Check) -> None:
    """Each command that writes, and a file that cannot be written, or not to its end."""
    _make(check)
    for command in WRITERS:
        for name, text in OUTPUTS.items():
            _one_line(check, [name if word == OUT else word for word in command], name, text)
    for command in STDOUT:
        words: list[str | Path] = [*LIMIT, "sh", "-c", f'exec "$@" >{FULL}', "sh", LWPCTL, *command]
        status, said = check.text(words, stderr=True, cwd=check.work)
        good = status == 1 and said == "lwpctl: cannot write the output: No space left on device\n"
        check.want(good, f"{command}: status {status}, {said[:200]!r}")


def _wrong(check: Check) -> None:
    """Each is refused before anything is read or written."""
    _make(check)
    for words, text in WRONG:
        status, said = check.text([*LIMIT, LWPCTL, *words], stderr=True, cwd=check.work)
        good = status == 2 and said.count("\n") == 1 and said.startswith("lwpctl") and text in said
        check.want(good, f"{words}: status {status}, {said[:200]!r}, wanted {text!r}")


CHECKS: tuple[tuple[str, Callable[[Check], None]], ...] = (
    ("a profile that cannot be read is one line", _read),
    ("a processor's description that cannot be read is one line", _hosts),
    ("an output that cannot be written is one line", _written),
    ("wrong usage is one line", _wrong),
)
