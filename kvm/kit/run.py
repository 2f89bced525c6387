#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure this processor's counters with the kernel's own KVM, then run the tests of LWP under KVM with the modules
beside this file, and write one file to send back. Nothing is installed, and the machine is put back as it was, also
when a test fails or Ctrl-C ends it. Ends within 20 minutes. Stop all virtual machines first."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TextIO

import machine
import tap
from modules import Before, Refused, built_in, users

HERE = Path(__file__).resolve().parent
FILE = "vlwp-kit.txt"
SECONDS = 20 * 60
LEAST = 5  # seconds that a test may need
SKIPPED = 77  # the status of a program that lacks something
KMSG = Path("/dev/kmsg")
LOCKDOWN = Path("/sys/kernel/security/lockdown")
SIGNED = Path("/sys/module/module/parameters/sig_enforce")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(Exception):
    """A signal ends the run."""


class Report:
    """The file, and a short form of it on the terminal. What is written is on the disk."""

    def __init__(self, file: TextIO):
        self.file = file

    def write(self, *lines: str) -> None:
        """Into the file."""
        self.file.writelines(f"{line}\n" for line in lines)
        self.file.flush()
        os.fsync(self.file.fileno())

    def tell(self, line: str) -> None:
        """On the terminal, too."""
        self.write(line)
        print(line, flush=True)


class Log:
    """What the kernel says from now on."""

    def __init__(self) -> None:
        self.door = os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.door, 0, os.SEEK_END)

    def lines(self) -> list[str]:
        """Since the last call."""
        found: list[str] = []
        while True:
            try:
                record = os.read(self.door, 8192)
            except BlockingIOError:
                return found
            except BrokenPipeError:
                found.append("(some of it is lost)")
                continue
            found.append(record.decode("utf-8", "replace").partition(";")[2].splitlines()[0])


class Kit:
    """One run."""

    def __init__(self, report: Report, seconds: float):
        self.report, self.end = report, time.monotonic() + seconds
        self.before, self.log = Before(), Log()
        self.passed = self.failed = self.skipped = 0
        self.words: str | None = None  # with which our modules are loaded

    def call(self, words: Sequence[str]) -> tuple[int, str]:
        """A program: its status, 124 when no time is left, and what it says. Nothing of it stays, whatever happens."""
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True,
        )
        try:
            said, _ = child.communicate(timeout=max(self.end - time.monotonic(), LEAST))
            return child.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return 124, child.communicate()[0]
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise

    def probe(self, quick: bool) -> str:
        """The row of this processor; "" if there is none."""
        self.report.tell(f"vlwp-probe, with the kernel's own KVM ({'half a minute' if quick else 'some minutes'}) ...")
        self.before.stock()
        with NamedTemporaryFile("r", encoding="utf-8") as numbers:
            words = [str(HERE / "vlwp-probe"), f"--json={numbers.name}", *(["--quick"] if quick else [])]
            status, said = self.call(words)
            *page, last = said.splitlines() or [""]
            self.report.write(numbers.read(), *page)
        self.report.tell(last if not status else f"vlwp-probe: status {status}: {last}")
        return "" if status else last.removeprefix("row: ")

    def skip(self, row: dict[str, Any], why: str) -> None:
        """It says nothing of this machine."""
        self.skipped += 1
        self.report.tell(f"{row['name']:<24}skipped: {why}")

    def test(self, row: dict[str, Any], measured: str) -> None:
        """A row of the tests."""
        words = row["kvm_amd"].replace("lwp_row=ROW", f"lwp_row={measured}" if measured else "").strip()
        lack = "time" if time.monotonic() + LEAST > self.end else ""
        if not lack and words != self.words:
            self.words = None
            self.before.put(HERE, words)
            self.words = words
        lack = lack or machine.lacks(row["needs"], row["smp"])
        if lack:
            self.skip(row, f"needs {lack}")
            return
        program, *more = row["command"]
        seed = [str(random.randrange(1 << 31))] if row["seeded"] else []
        print(f"{row['name']:<24}", end="", flush=True)
        status, said = self.call([str(HERE / "tests" / program), *more, *seed])
        if status == SKIPPED:
            print(end="\r")
            self.skip(row, said.strip().rpartition("# SKIP ")[2])
            return
        found, kernel = tap.read(said), self.log.lines()
        wrong = [line for line in kernel if machine.COMPLAINT.search(line)]
        well = found.complete and not found.failed and not status and not wrong
        self.passed, self.failed = self.passed + found.passed, self.failed + max(found.failed, not well)
        verdict = f"{found.passed} passed, {found.failed} failed" + ("" if well else f", status {status}")
        print(verdict, flush=True)
        self.report.write(f"{row['name']:<24}{verdict}", *(f"    {line}" for line in found.notes))
        if not well:
            self.report.write(f"  kvm_amd {self.words}", *(f"  | {line}" for line in said.splitlines()))
            print(*found.shown, *wrong, sep="\n", flush=True)
        self.report.write(*(f"  kernel: {line}" for line in kernel))

    def all(self, args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
        """Everything, in a machine that changes."""
        self.report.tell(f"vlwp {value('version')}, {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}")
        self.report.write(*machine.described(), f"{'load':<15}{machine.value(Path('/proc/loadavg'))}")
        self.before.without_watchdog()
        measured = args.row or self.probe(args.quick)
        for row in rows:
            self.test(row, measured)

    def finish(self, ended: str) -> int:
        """Put everything back. Result: the exit status."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        wrong = self.before.restore()
        self.report.write(*(f"  kernel: {line}" for line in self.log.lines()))
        if ended:
            self.report.tell(f"ended before its end: {ended}")
        for line in wrong:
            self.report.tell(f"NOT as it was before: {line}; start this machine again")
        if not wrong:
            tainted = ", but that its kernel is marked as tainted" if self.before.tainted else ""
            self.report.tell(f"this machine is as it was before{tainted}")
        self.report.tell(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if ended or wrong or self.failed else 0


def value(name: str) -> str:
    """What a file of the kit says."""
    return (HERE / name).read_text(encoding="utf-8").strip()


def refuse() -> None:
    """What can be known to fail is refused before anything is done."""
    kernel, found = value("kernel"), machine.cpuinfo()
    if os.geteuid():
        raise Refused("run it as root")
    if os.uname().release != kernel:
        raise Refused(f"this kit is for the kernel {kernel}, not {os.uname().release}: make one for that kernel")
    if found.get("vendor_id") != "AuthenticAMD":
        raise Refused(f"this is no processor of AMD but {found.get('vendor_id')}")
    if "svm" not in found.get("flags", "").split():
        raise Refused("there is no SVM: switch it on in the firmware")
    if built_in():
        raise Refused("KVM is built into this kernel: its modules cannot be replaced")
    if machine.value(SIGNED) in ("Y", "1") or "[none]" not in (machine.value(LOCKDOWN) or "[none]"):
        raise Refused("this kernel takes signed modules only (Secure Boot): ./vlwp-probe runs here, the tests do not")
    used = max(users("kvm_amd"), users("kvm"))
    if used:
        raise Refused(f"KVM is in use ({used}): stop all virtual machines")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", metavar="TEST", help="only these, as test_insn (default: all)")
    parser.add_argument("-o", dest="file", default=FILE, metavar="FILE", help=f"the file to send back (default {FILE})")
    parser.add_argument("--quick", action="store_true", help="measure with 64 turns in place of 4,096")
    parser.add_argument("--row", default="", help="what vlwp-probe has found here before; it does not run then")
    return parser.parse_args(words)


def _end(number: int, _: object) -> None:
    raise Ended(signal.Signals(number).name)


def main(words: Sequence[str]) -> int:
    """The command. Result: its exit status."""
    args = parse(words)
    try:
        rows = json.loads(value("rows.json"))
        names = {name for row in rows for name in (row["name"], row["name"].partition("/")[0])}
        unknown = [name for name in args.tests if name not in names]
        if unknown:
            raise Refused(f"there is no test {unknown[0]}; there are: {' '.join(row['name'] for row in rows)}")
        wanted = [row for row in rows if not args.tests or {row["name"], row["name"].partition("/")[0]} & {*args.tests}]
        refuse()
        with open(args.file, "x", encoding="utf-8") as file:
            for number in SIGNALS:
                signal.signal(number, _end)
            kit, ended = Kit(Report(file), SECONDS), ""
            try:
                kit.all(args, wanted)
            except (Ended, Refused, OSError) as err:
                ended = str(err)
            status = kit.finish(ended)
    except (Refused, OSError) as err:
        print(f"{sys.argv[0]}: {err}", file=sys.stderr)
        return 1
    print(f"send back {args.file}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
