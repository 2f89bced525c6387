# SPDX-License-Identifier: GPL-2.0-or-later
"""What count counts on count-1 is what ptrace steps there (guest-tests/linux/stepped.c): whole programs, and kinds of
code, of which the difference of two sizes has no start-up in it."""

import json
import random
import shlex

import pytest

from lab.common import proc
from lab.common.places import LINUX_PROGRAMS
from lab.guest.count1 import ENVIRONMENT
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP, parted
from lab.tests.plugin import Tell

KINDS, STEPPED = (LINUX_PROGRAMS / name for name in ("kinds", "stepped"))
SIZES = (4, 9)
# Each is one process, and small: a step takes as long as thousands of instructions. None is a shell, which writes down
# its parent's number: 19 instructions for each digit.
PROGRAMS = (
    "true", "echo one two", "cat /etc/fstab", "wc /etc/passwd", "head -n3 /etc/passwd", "sort /etc/group",
    "cut -d: -f1 /etc/group", "tr a-z A-Z", "md5sum /etc/passwd", "sha256sum /etc/group", "uniq /etc/group",
    "seq 200", "expr 7 + 9", "printf %d 9", "basename /a/b.c .c", "test -e /etc", "od -c /etc/fstab", "tac /etc/group",
    "factor 99991", "nl /etc/group",
)


def stepped(lines: list[str]) -> list[int]:
    """The instructions of each command line, as ptrace counts them. Its environment and where it writes are those of a
    program that is counted."""
    alone = " ".join(["env -i", *(f"{name}={value}" for name, value in ENVIRONMENT.items()), str(STEPPED)])
    script = "; ".join([*(f"{alone} /tmp/numbers {line}" for line in lines), "echo; cat /tmp/numbers"])
    text = good([VLWP, "shell", "--machine=count-1", "--", "sh", "-c", script])
    return [int(word) for word in text.split()[-len(lines):]]


def of_kinds(names: list[str]) -> list[int]:
    """The instructions of each size of each kind, as count counts them: of each process that a shell starts."""
    script = "; ".join([*(f"{KINDS} {name} {size}" for name in names for size in SIZES), "exit"])
    threads = json.loads(good([VLWP, "count", "--json", "--", "sh", "-c", script]))["threads"]
    return [row["counts"]["instructions"] for row in threads if row["name"] == KINDS.name]


def differences(numbers: list[int]) -> list[int]:
    """Of each kind, between its sizes."""
    return [more - less for less, more in zip(numbers[::2], numbers[1::2], strict=True)]


def test_stepped_kinds(seed: int, scale: int, tell: Tell) -> None:
    """Arithmetic, vectors, strings that repeat, the C library, faults, signals, system calls."""
    known = proc.output([KINDS]).split()
    names = random.Random(seed).sample(known, min(scale, len(known)))
    right = differences(stepped([f"{KINDS} {name} {size}" for name in names for size in SIZES]))
    got = differences(of_kinds(names))
    tell(f"{len(names)} kinds, {sum(right)} instructions between their sizes")
    assert min(right) > 0 and dict(zip(names, got, strict=True)) == dict(zip(names, right, strict=True))


@pytest.mark.soak
def test_stepped_programs(seed: int, scale: int, tell: Tell) -> None:
    """The loader, and all of a program from its first instruction to its exit."""
    lines = random.Random(seed).sample(PROGRAMS, min(scale, len(PROGRAMS)))
    got = {}
    for line in lines:
        text = good([VLWP, "count", "--json", "--", *shlex.split(line)])
        got[line] = int(parted(text)[0]["runs"][0]["instructions"])
    right = stepped(lines)
    tell(f"{len(lines)} programs, {sum(right)} instructions")
    assert got == dict(zip(lines, right, strict=True))
