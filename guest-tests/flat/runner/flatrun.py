#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the rows of the bare-metal LWP conformance tests (table.py), each in a QEMU of its own, and report what came of
them. The last line is "N passed, N failed, N skipped", test points; a row that is broken is called an error and counts
as one failure. Exit status: 0, 1 failures, 2 usage, 77 nothing to run with."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from judge import Tap, read, verdict
from table import OFFERS, ROWS, SECONDS, Row

NOISE = " doesn't support requested feature: "  # QEMU says it of TCG and most models
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


@dataclass(frozen=True)
class Result:
    """What came of a row."""

    word: str  # pass, skip, FAIL, ERROR
    why: str
    tap: Tap
    said: str
    errors: str
    seconds: float

    @property
    def failed(self) -> int:
        """Points that failed; a broken row is one."""
        return self.tap.failed + bool(self.why)


def judged(said: str, errors: str, status: int | None, seconds: float = 0) -> Result:
    """Of what kernel and emulator have said and of the emulator's status, negative for a signal; None: it was given
    up."""
    tap = read(said)
    return Result(*verdict(tap, status), tap, said.replace("\r", ""), errors, seconds)


def run(command: Sequence[str], seconds: float) -> Result:
    """Run a row; the emulator ends with us."""
    begin = time.monotonic()
    with subprocess.Popen(
        [*ENDS_WITH_US, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        errors="replace",
    ) as child:
        try:
            said, errors = child.communicate(timeout=seconds)
            status: int | None = child.returncode
        except subprocess.TimeoutExpired:
            child.kill()
            said, errors = child.communicate()
            status = None
    return judged(said, errors, status, time.monotonic() - begin)


def failures(result: Result) -> list[str]:
    """The lines that explain a failure: points that are not ok with the notes after them, and what the emulator says
    of a row that is broken."""
    lines, show = [], False
    for line in result.said.splitlines():
        if not line.startswith("#"):
            show = line.startswith("not ok ")
        if show and not line.startswith("# dump "):
            lines.append(line)
    if result.word == "ERROR":
        lines += [line for line in result.errors.splitlines() if NOISE not in line]
    return lines


def _options() -> argparse.Namespace:
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(prog="flatrun", description=__doc__, allow_abbrev=False)
    parser.add_argument("--qemu", default="qemu-system-x86_64", help="emulator (default: %(default)s from PATH)")
    parser.add_argument("--firmware", default="", metavar="DIR", help="where it finds its firmware (its -L)")
    parser.add_argument("--image", type=Path, default=here / "flat.elf", help="test kernel (default: beside flatrun)")
    parser.add_argument("--accel", choices=list(OFFERS), default="tcg", help="default: tcg")
    parser.add_argument("--jobs", type=int, choices=range(1, 65), default=2, metavar="N", help="rows at a time (2)")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="rows whose name matches")
    parser.add_argument("--list", action="store_true", help="name the rows and do nothing")
    parser.add_argument("--verbose", action="store_true", help="show all that kernel and emulator say")
    parser.add_argument("--args", default="", metavar="WORDS", help="more words for the test, as 'seed=7 count=1000'")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="N", help="a row may take (%(default)s)")
    return parser.parse_args()


def chosen(only: Sequence[str]) -> list[Row]:
    """The rows of these patterns; all without one."""
    return [row for row in ROWS if not only or any(fnmatchcase(row.name, pattern) for pattern in only)]


def _lacks(args: argparse.Namespace) -> str:
    """What there is nothing to run with."""
    if not os.access(args.image, os.R_OK):
        return f"no test kernel at {args.image}; build it or give --image"
    if not shutil.which(args.qemu):
        return f"no emulator {args.qemu}; build it or give --qemu"
    if args.accel == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "no access to /dev/kvm, which --accel kvm needs"
    return ""


def _show(args: argparse.Namespace, row: Row, result: Result) -> None:
    why = f": {result.why}" if result.why else ""
    print(f"{result.word:<5} {row.name} ({result.tap.points} points, {result.seconds:.1f} s){why}")
    lines = (result.said + result.errors).splitlines() if args.verbose else failures(result)
    for line in lines:
        print(f"      {line}")
    sys.stdout.flush()


def main() -> int:
    """The program."""
    args = _options()
    rows = chosen(args.only)
    if not rows:
        print("flatrun: no row has a name that matches --only; --list names them", file=sys.stderr)
        return 2
    if args.list:
        for row in rows:
            cpu = ",".join(filter(None, [row.model, row.cpu]))
            print(f"{row.name:<28} {cpu}{'' if row.offered(args.accel) else ' (skipped here)'}")
        return 0
    if lack := _lacks(args):
        print(f"flatrun: {lack}", file=sys.stderr)
        return 77
    passed = failed = skipped = 0
    able = [row for row in rows if row.offered(args.accel)]
    for row in rows:
        if row not in able:
            skipped += 1
            print(f"skip  {row.name}: {args.accel} does not offer {row.needs}")
    commands = [row.command(args.qemu, args.image, args.accel, args.firmware, args.args) for row in able]
    with ThreadPoolExecutor(args.jobs) as pool:
        for row, result in zip(able, pool.map(lambda command: run(command, args.seconds), commands)):
            _show(args, row, result)
            passed += result.tap.passed
            failed += result.failed
            skipped += result.tap.skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
