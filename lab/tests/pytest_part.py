# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of ./vlwp test whose tests are pytest's, in lab/tests/: what it builds, and pytest's command line."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.building import cbmc, kernel, qemu, tools, deps
from lab.common import proc
from lab.common.options import seed
from lab.common.places import BUILD, HOST, LAB, LOG, PYTHON, TOP, temporary
from lab.common.say import Died, Skip, Usage, alive, say, told
from lab.common.steps import build_lock, jobs_count, make_dir
from lab.migrate.machines import INITRD
from lab.nested import l1
from lab.tests.libvirt.spaces import missing

PYTEST = (PYTHON, "-B", "-m", "pytest")
UNDONE = 60  # seconds, for tests that end to undo what they did, such as a Debian system
NOTHING = 5  # pytest's status: no test was found


@dataclass(frozen=True)
class PytestPart:
    """A folder of lab/tests/, or other words for pytest that mean tests."""

    name: str
    summary: str
    prepare: Callable[[], object] = lambda: None
    words: tuple[str, ...] = ()

    @property
    def where(self) -> tuple[str, ...]:
        """Where its tests are."""
        return self.words or (str((LAB / "tests" / self.name).relative_to(TOP)),)

    def lines(self, names: Sequence[str], *options: str, door: str = "") -> list[str]:
        """What --list or --print says; each name means a test. Nothing is built for it. door: the user's command."""
        command = [*PYTEST, *self.where, "-q", *_only(names), *options]
        done = subprocess.run(command, cwd=TOP, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if unknown := re.search(r"^ERROR: (no test '.*')$", done.stderr, re.MULTILINE):
            door = door or f"test {self.name}"
            raise Usage(f"{door}: {unknown[1]}; './vlwp {door} --list' names them")
        if done.returncode not in (0, NOTHING):
            raise Died(f"the tests of {self.name} cannot be listed: {done.stdout}{done.stderr}")
        parts = "|".join({self.name, *(Path(word).name for word in self.where)})
        return re.findall(rf"^(?:{parts}) .*", done.stdout, re.MULTILINE)

    def debug(self, names: Sequence[str], args: argparse.Namespace) -> int:
        """Start one test's machine stopped. Result: an exit status."""
        able = self.lines(names, "--list", "--gdb")
        if len(able) != 1:
            have = f"{len(able)} match" if able else "no test that runs in a machine of its own matches"
            raise Usage(f"test {self.name} --gdb takes the name of one test; {have}")
        return int(any(sums[1] for sums in run([self], names, args).values()))

    def soak(self, door: str, names: Sequence[str], args: argparse.Namespace, *more: str) -> int:
        """Some of the tests as a command of their own, those that take hours, too. Result: an exit status."""
        deps.ensure()
        if names:
            self.lines(names, "--list", *more, door=door)
        passed, failed, skipped, _ = map(sum, zip(*run([self], names, args, *more, "--timeout=0").values()))
        print(f"{passed} passed, {failed} failed, {skipped} skipped")
        return int(failed != 0 or not passed)


Sums = dict[str, list[float]]  # of each part: passed, failed, skipped, seconds


def run(parts: Sequence[PytestPart], names: Sequence[str], args: argparse.Namespace, *more: str) -> Sums:
    """Run the tests of parts together, so that no processor waits for the last one of a part; more: of pytest's words.
    A part that cannot run is one failure, or one skipped test. Result: the points, and the share of the time."""
    make_dir(BUILD)
    sums: Sums = {}
    able = [part for part in parts if _prepared(part, args, sums)]
    if able:
        sums |= _run(able, names, args, *more)
    return sums


def _prepared(part: PytestPart, args: argparse.Namespace, sums: Sums) -> bool:
    """Build what it needs. Result: can it run? If not, it is said why, and counted."""
    try:
        if args.here:
            tools.build()
        else:
            part.prepare()
        return True
    except Skip as err:
        print(f"skipped {part.name}: {err}")
        sums[part.name] = [0, 0, 1, 0]
    except Died as err:
        print(f"FAILED  {part.name}: {err}")
        sums[part.name] = [0, 1, 0, 0]
    return False


def _run(parts: Sequence[PytestPart], names: Sequence[str], args: argparse.Namespace, *more: str) -> Sums:
    name = "-".join(part.name for part in parts)
    try:
        work = Path(tempfile.mkdtemp(prefix="vlwp-test."))  # short: sockets are in it
    except OSError as err:
        raise Died(f"cannot create a directory in {temporary()}: {err.strerror}") from err
    work.chmod(0o755)
    places = [*(word for part in parts for word in part.where), f"--basetemp={work}/tests", f"--sums={work}/sums"]
    command = [*PYTEST, *places, *_only(names), *_pytest(args), *more]
    failed = True
    try:
        status = proc.call([*command, "-s"], cwd=TOP) if args.gdb else _shown(command, name)
        file = work / "sums"
        found: Sums = json.loads(file.read_text(encoding="ascii")) if file.is_file() else {}
        failed = status not in (0, NOTHING)
        first = found.setdefault(parts[0].name, [0, 0, 0, 0])
        if failed and not any(sums[1] for sums in found.values()):
            first[1] = 1
        return found
    finally:
        if args.keep and failed:
            say(f"the files of '{name}' are in {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)


def add_options(parser: argparse.ArgumentParser) -> None:
    """pytest's own that a command passes on."""
    parser.add_argument("--keep", action="store_true", help="leave the files of a part that fails, and say where")
    parser.add_argument("--seed", type=seed, metavar="N", help="of what is drawn, as a run has printed it")
    parser.add_argument("-k", metavar="EXPRESSION", help="tests whose names fit, as pytest has it")
    parser.add_argument("-x", action="store_true", help="end at the first that fails")
    parser.add_argument("--durations", metavar="N", help="name the N slowest")
    parser.add_argument("--junitxml", metavar="FILE", help="write the results there, too")
    parser.set_defaults(gdb=False, here=False)


def _only(names: Sequence[str]) -> list[str]:
    return [*(f"--only={name}" for name in names), *(["-m", "not soak"] if names else [])]


def _pytest(args: argparse.Namespace) -> list[str]:
    """The options that are pytest's own."""
    words = [f"--color={'yes' if sys.stdout.isatty() else 'no'}"]
    if args.gdb:
        words += ["--gdb", "--timeout=0"]
    else:  # what counters of this machine count is measured by one program at a time
        words += ["-v", "--here"] if args.here else ["-v", "-n", str(jobs_count()), "--dist=loadgroup"]
    for option in ("-k", "--durations", "--junitxml", "--seed"):
        value = getattr(args, option.lstrip("-"))
        words += [f"{option}={value}" if option.startswith("--") else f"{option}{value}"] if value is not None else []
    return [*words, *(["-x"] if args.x else [])]


def _shown(command: Sequence[str], name: str) -> int:
    """Run it and show what it says. Result: its exit status."""
    child = proc.start(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
    assert child.stdout
    try:
        with alive(name):
            for line in child.stdout:
                told()
                print(line, end="", flush=True)
    except BaseException:
        proc.end(child, UNDONE)  # before its files go
        raise
    return proc.wait(child)


def _linux() -> None:
    tools.build()
    kernel.build()
    qemu.ensure()


def _migrate() -> None:
    l1.prepare()
    tree = INITRD.with_suffix(".root")
    make_dir(tree, LOG)
    with build_lock("migrate"), (LOG / "migrate-initrd").open("w", encoding="utf-8") as log:
        shutil.copy(HOST / "guest-tests/migrate/live", tree / "init")
        kernel.pack(tree, INITRD, log)


def _libvirt() -> None:
    if lack := missing():
        raise Skip(lack)
    _linux()


SOAK = PytestPart("soak", "what needs more than ./vlwp test may ask for")
PARTLY = ("lab/tests/flat", "lab/tests/migrate", "lab/tests/libvirt")
UNPATCHED = PytestPart("unpatched", "beside QEMU without LWP", _linux, PARTLY)
# In the order in which they run: fast ones first.
PARTS = {part.name: part for part in (
    PytestPart("lab", "the unit tests of the lab's own Python", words=(
        "lab", "guest-tests/flat/runner", "--ignore=lab/tests",
    )),
    PytestPart("unit", "warnings, unit tests under sanitizers, fuzzers, style, the scripts", words=(
        "lab/tests/unit", "host-tools/tests",
    )),
    PytestPart("prove", "properties of the core, for all inputs", cbmc.fetch),
    PytestPart("flat", "the bare-metal conformance tests in QEMU", _linux),
    PytestPart("linux", "programs in a Linux guest, and profiles beside the truth", _linux),
    PytestPart("kvm", "LWP for KVM guests, in the nested lab", l1.prepare),
    PytestPart("migrate", "save, restore and migrate guests with LWP; refuse what does not fit", _migrate),
    PytestPart("libvirt", "two hosts with libvirt: baseline, live migration, what is refused", _libvirt),
)}
