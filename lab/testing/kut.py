# SPDX-License-Identifier: GPL-2.0-or-later
"""kvm-unit-tests, of which the user has a tree (VLWP_KUT): the x86 programs of its list, the rows that one prints, and
those that one emulator passes and another one does not."""

import os
import re
import shlex
import signal
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from lab.common.say import Died

LIST = "x86/unittests.cfg"
LIMIT = 90  # seconds for a program that names fewer or none
SECTION = re.compile(r"^\[(.*)\]$", re.MULTILINE)
FIELD = re.compile(r'^(\w+) *= *(?:"""(.*?)"""|([^\n]*))', re.MULTILINE | re.DOTALL)
# A row; or a case of access_test, which only prints those that fail.
ROW = re.compile(r"^(?:(SKIP|X?PASS|[XK]?FAIL): (.*[A-Za-z].*?)|test (.*): (FAIL): .*?)\s*$", re.MULTILINE)
NUMBER = re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]*\d[0-9a-f]*\b", re.IGNORECASE)
ENDS = {1: "PASS", 77: "SKIP"}  # statuses of QEMU; others: FAIL
GOOD, BAD = ("PASS", "XFAIL"), ("FAIL", "XPASS")
Row = tuple[str, str]
LATE: Row = ("FAIL", "the program ends in time")
GIVEN_UP = (124, 128 + signal.SIGXCPU)  # statuses: it ran for too long; it used too much time of CPUs


class Program(NamedTuple):
    """An entry of the list. words: of QEMU's command line."""

    name: str
    file: str
    words: list[str]
    limit: int


def tree() -> Path | None:
    """The user's tree, which must be one."""
    given = os.environ.get("VLWP_KUT")
    if not given:
        return None
    place = Path(os.path.abspath(given))
    if not all((place / name).is_file() for name in (LIST, "configure")):
        raise Died(f"VLWP_KUT={given}: this is no tree of kvm-unit-tests, which has {LIST} and configure")
    os.environ["VLWP_KUT"] = str(place)  # tests run in another directory
    return place


def programs(text: str) -> list[Program]:
    """The entries of a list for 64 bits. Their 'accel' and 'check' say what KVM needs: TCG runs all."""
    found, parts = [], SECTION.split(text)[1:]
    for name, body in zip(parts[::2], parts[1::2]):
        fields = {key: (block or line).replace("\\\n", "").strip() for key, block, line in FIELD.findall(body)}
        words = ["-smp", fields.get("smp", "1")]
        words += shlex.split(fields.get("qemu_params", fields.get("extra_params", "")))
        words += shlex.split(f"-append {fields['test_args']}") if "test_args" in fields else []
        if fields.get("arch", "x86_64") == "x86_64":
            found.append(Program(name, fields["file"], words, max(int(fields.get("timeout", LIMIT)), LIMIT)))
    return found


def rows(status: int, out: str) -> list[Row]:
    """The tests that a program has printed; the last one is its end. status: of QEMU."""
    found = [(verdict or case, text or other) for verdict, text, other, case in ROW.findall(out)]
    return [*found, LATE if status in GIVEN_UP else (ENDS.get(status, "FAIL"), "the program ends well")]


def worse(stock: list[Row], ours: list[Row]) -> list[str]:
    """What ours fails or lacks and stock passes; where stock was given up, among the rows that both had time for. Some
    programs print random numbers: where a text is not in both, one that differs in numbers takes its place."""
    if stock[-1] == LATE:
        both = len(stock) - 1 if ours[-1] != LATE else min(len(stock), len(ours)) - 1
        stock, ours = stock[:both], ours[:both]

    def more(one: list[Row], other: list[Row], verdicts: tuple[str, ...]) -> Counter[str]:
        first, second = (Counter(text for verdict, text in rows if verdict in verdicts) for rows in (one, other))
        return first - second

    def plain(texts: Counter[str]) -> Counter[str]:
        return Counter(NUMBER.sub("N", text) for text in texts.elements())

    failed, lost = more(ours, stock, BAD), more(stock, ours, GOOD)
    surely = failed & lost
    rest = plain(failed - surely) - plain(more(stock, ours, BAD))
    gone = plain(lost - surely) - plain(more(ours, stock, GOOD)) - rest
    return [*surely, *rest, *(f"is not passed: {text}" for text in gone)]
