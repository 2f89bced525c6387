# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl says to files that it cannot read or write: one line that names the file, and status 1."""

from collections.abc import Sequence

import pytest

from lab.tests.conftest import run
from sample import LWPCTL, Sample

FILE, OTHER, OUT = "FILE", "OTHER", "OUT"  # in command lines: the bad one, a good one, and what must not be left
LIMIT = 60  # seconds
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
    ((), "no command"), (("frobnicate",), "frobnicate"), (("repotr", OTHER), "is it report?"),
    (("report", "--sysroot=/nowhere", OTHER), "--sysroot=/nowhere: No such"), (("annotate", "/"), "comes first"),
    (("report", OTHER, OTHER), "more than one file"),
    (("report", "--until=0", OTHER), "no sample lies before the start"), (("report", "--from=x", OTHER), "no time"),
    (("report", "--from=-1", OTHER), "no time"), (("report", "--by=nothing", OTHER), "not a list of"),
    (("report", "--sort=x", OTHER), "neither samples nor name"), (("report", "--event=x", OTHER), "unknown event"),
    (("report", "--format=x", OTHER), "no format 'x'"), (("report", "--limit=-1", OTHER), "not a number"),
    (("report", "--open=localhost", OTHER), "no address of a Firefox Profiler"),
    (("report", "--open", "--calls", OTHER), "shows the whole profile"),
    (("report", "--open", "--json", OTHER), "shows the whole profile"),
    (("top", "--delay=0", OTHER), "no time"), (("top", "--frames=x", OTHER), "not a number"),
    (("export", OTHER), "--format"), (("export", "--format=x", OTHER), "no format 'x'"), (("annotate",), "function"),
    (("diff", OTHER), "two files"), (("merge",), "the files"), (("decode", "--lwp-rev=7", OTHER), "neither 43724"),
    (("explain", "foo=1"), "expected"), (("explain", "eax="), "32 bits"), (("caps", "--accel=xen"), "kvm or tcg"),
    (("caps", "--format=x"), "no format 'x'"), (("caps", "--class"), "need --qemu"),
    (("baseline",), "the hosts"), (("check", OTHER), "one host"), (("check",), "one host"),
    (("check", "--manager=vdsm", OTHER, OTHER), "libvirt or nova"),
    (("baseline", "--groups", "--format=libvirt", OTHER), "text or JSON"),
)


@pytest.fixture
def files(sample: Sample) -> Sample:
    """All kinds of bad ones, and a good one."""
    data, place = sample.data(name=OTHER), sample.place
    (place / "folder").mkdir()
    (place / "empty").write_bytes(b"")
    (place / "program").write_bytes(LWPCTL.read_bytes()[:100000])
    (place / "text").write_text("hello\n", encoding="ascii")
    (place / "cut").write_bytes(data.read_bytes()[:700])
    (place / "device").symlink_to("/dev/zero")
    return sample


def _refused(files: Sample, words: Sequence[str], name: str, text: str) -> None:
    ended = files.lwpctl(*words, limit=LIMIT)
    one = ended.said.count("\n") == 1 and ended.said.startswith("lwpctl: ")
    assert ended.status == 1 and one and name in ended.said and text in ended.said, f"wanted {text!r}"


def test_profile_that_cannot_be_read(files: Sample) -> None:
    """Each command, each kind of bad file."""
    for command in READERS:
        for name, text in PROFILES.items():
            if command[0] != "top" or name not in GROW:
                _refused(files, [name if word == FILE else word for word in command], name, text)
                assert not (files.place / OUT).exists(), f"{command}, {name}: a file is left"


def test_processor_that_cannot_be_read(files: Sample) -> None:
    """Descriptions of processors."""
    for command in HOSTS:
        for name in PROFILES:
            _refused(files, [name if word == FILE else word for word in command], name, "")


def test_output_that_cannot_be_written(files: Sample) -> None:
    """Each command that writes, and a file that cannot be written, or not to its end."""
    for command in WRITERS:
        for name, text in OUTPUTS.items():
            _refused(files, [name if word == OUT else word for word in command], name, text)
    for command in STDOUT:
        ended = run(["sh", "-c", f'exec "$@" >{FULL}', "sh", LWPCTL, *command], limit=LIMIT, cwd=files.place)
        assert ended.status == 1 and ended.said == "lwpctl: cannot write the output: No space left on device\n"


def test_wrong_usage(files: Sample) -> None:
    """Each is refused in one line before anything is read or written."""
    for words, text in WRONG:
        files.refuses(2, text, *words)
