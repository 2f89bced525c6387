# SPDX-License-Identifier: GPL-2.0-or-later
"""The unit tests in C, which are Meson's, under AddressSanitizer and UBSan."""

import os
from contextlib import nullcontext

import pytest

from lab.common import proc
from lab.common.places import TOP
from lab.common.steps import build_lock, jobs_count
from lab.testing.junit import tally
from lab.tests.conftest import good, run
from lab.tests.plugin import Points, Tell, shows
from lab.tests.unit.conftest import TESTS, FOLDERS, SANITIZERS, sanitized

SOURCES = (path for folder in FOLDERS for path in sorted((TOP / folder / "tests").glob("test_*.c")))
PROGRAMS = [path.stem for path in SOURCES]
WALK = "kvm/engine/tests/net_walk"
# Programs for it, which do not end, or not soon.
WALKED = {
    "perl": ["perl", "-e", "while (1) { my %h; $h{$_ % 97} .= chr for 1..300; s/a(.)b/$1/g for sort values %h }"],
    "python3": ["/usr/bin/python3", "-c", "while 1: sorted(str(i * 79 % 97).replace('1', 'ab') for i in range(300))"],
    "sqlite3": ["sqlite3", "", "with recursive c(x) as (values(1) union all select x * 7 % 9 from c) select * from c"],
    "xz": ["xz", "-9", "-c", *["/usr/bin/perl"] * 100],
}
SUITES = ("--no-suite", "kvm")  # its programs need /dev/kvm with LWP: `test kvm` has them


def multiplier(load: float, processors: int) -> int:
    """Of Meson's timeouts, which are for an idle machine: a test's share of a processor shrinks as the load grows.
    Other tests of this part run at the same time."""
    return 2 + int(load / processors)


def command(*names: str) -> list[str]:
    """Meson's command line. Of single programs it builds what they are and what they start."""
    slower = str(multiplier(os.getloadavg()[0], jobs_count()))
    built = [] if names else ["--no-rebuild"]
    return ["meson", "test", "-C", str(TESTS), *built, "--print-errorlogs", *SUITES, "-t", slower, *names]


def _passes(points: Points, *names: str) -> None:
    log = TESTS / "meson-logs/testlog.junit.xml"
    log.unlink(missing_ok=True)
    ended = run(command(*names), env=SANITIZERS)
    assert log.is_file(), f"Meson ends with status {ended.status} before a test"
    points(*tally(log))
    assert ended.status == 0


def _line(name: str) -> str:
    return f"the program {name}.c" if name else "all unit tests under AddressSanitizer and UBSan"


@shows(_line, lambda name: proc.quoted(command(*filter(None, [name]))))
@pytest.mark.parametrize("name", [
    pytest.param("", id="all", marks=pytest.mark.long),
    *(pytest.param(name, id=name, marks=pytest.mark.alone) for name in PROGRAMS),
])
def test_tests(name: str, points: Points) -> None:
    """Builds what it takes. Of programs that are named each builds, and leaves Meson's log, after the other."""
    sanitized("build.ninja" if name else "meson-test-prereq")
    with build_lock("host-tests") if name else nullcontext():
        _passes(points, *filter(None, [name]))


def test_timeouts_scale_with_the_load() -> None:
    """test_random takes 1.5 s: on two processors at load 15 it was cut off once."""
    assert multiplier(0.9, 2) == 2 and multiplier(15, 2) == 9


@pytest.mark.parametrize("name", WALKED)
def test_net_walk(name: str, seed: int, scale: int, tell: Tell) -> None:
    """No way of a program that runs leads past a net of breakpoints."""
    sanitized(WALK)
    done = good([TESTS / WALK, str(seed), str(2500 * scale), "300", *WALKED[name]], env=SANITIZERS)
    tell(f"{name}: {done.strip()}, seed {seed}")
