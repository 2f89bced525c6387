# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the tests: all of them, the named PARTs, or of one PART the tests whose names are NAMEs (a name, a part of
one, or a pattern as of a shell)."""

import argparse
import importlib
import shutil
import tempfile
import time
import traceback
from pathlib import Path

from lab.common.places import temporary
from lab.common.report import Report
from lab.common.say import Died, Skip, Stop, Usage, say
from lab.start import deps
from lab.start.pytest_part import PARTS as PYTEST_PARTS, add_options as add_pytest_options
from lab.testing.part import Case, Part, choose

# In the order in which they run: fast ones first.
PARTS = {
    "unit": ("lab.testing.unit", "warnings, unit tests under sanitizers, fuzzers, style, the scripts"),
    "flat": ("", PYTEST_PARTS["flat"].summary),
    "linux": ("", PYTEST_PARTS["linux"].summary),
    "kvm": ("", PYTEST_PARTS["kvm"].summary),
    "migrate": ("", PYTEST_PARTS["migrate"].summary),
    "libvirt": ("", PYTEST_PARTS["libvirt"].summary),
}
TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parts = "; ".join(f"{name}: {text}" for name, (_, text) in PARTS.items())
    parser.add_argument("words", nargs="*", metavar="PART [NAME...]", help=f"{parts}; all")
    parser.add_argument("--list", action="store_true", help="name the tests with a line each, and run none")
    parser.add_argument("--print", action="store_true", help="show the command line of each test, and run none")
    parser.add_argument("--gdb", action="store_true", help="flat, linux: start one test's machine stopped, for gdb")
    parser.add_argument("--here", action="store_true", help="kvm: on this machine's own /dev/kvm, with a report")
    add_pytest_options(parser)


def _wanted(words: list[str]) -> tuple[list[str], list[str]]:
    """The parts and the names in the user's words."""
    parts: list[str] = []
    names: list[str] = []
    for word in words:
        if word == "all" and not names:
            parts += PARTS
        elif word in PARTS and not names:
            parts.append(word)
        elif parts:
            names.append(word)
        else:
            raise Usage(f"test: no part '{word}'; there are: {' '.join(PARTS)} all")
    if names and len(parts) > 1:
        raise Usage(f"test: '{names[0]}': names of tests go after one part, not after {len(parts)}")
    return parts or list(PARTS), names


def _check(name: str, names: list[str], here: bool) -> None:
    """Each name means a test."""
    if name in PYTEST_PARTS and not here:
        PYTEST_PARTS[name].check(names)
    else:
        _chosen(_load(name, here), name, names)


def _load(name: str, here: bool = False) -> Part:
    part: Part = importlib.import_module("lab.testing.kvm_here" if here else PARTS[name][0]).PART
    return part


def _chosen(part: Part, name: str, names: list[str]) -> list[Case]:
    part.prepare_names()
    cases = part.cases()
    for word in names:
        if not choose(cases, [word]):
            raise Usage(f"test {name}: no test '{word}'; './vlwp test {name} --list' names them")
    return choose(cases, names)


def _run_part(name: str, names: list[str], args: argparse.Namespace) -> tuple[list[int], float]:
    """Run a part. Result: passed, failed, skipped, and seconds. One that cannot say its sums is one failure, or one
    skipped test."""
    begin = time.monotonic()
    try:
        pytest = name in PYTEST_PARTS and not args.here
        numbers = PYTEST_PARTS[name].run(names, args) if pytest else _run_cases(name, names, args)
    except Skip as err:
        print(f"skipped {name}: {err}")
        numbers = [0, 0, 1]
    except Died as err:
        print(f"FAILED  {name}: {err}")
        numbers = [0, 1, 0]
    return numbers, time.monotonic() - begin


def _run_cases(name: str, names: list[str], args: argparse.Namespace) -> list[int]:
    try:
        work = Path(tempfile.mkdtemp(prefix=f"vlwp-{name}."))
    except OSError as err:
        raise Died(f"cannot create a directory in {temporary()}: {err.strerror}") from err
    work.chmod(0o755)
    report = Report(work)
    try:
        part = _load(name, args.here)
        cases = _chosen(part, name, names)
        part.prepare()
        part.run(cases, report)
    except Stop:
        raise
    except Exception as err:  # pylint: disable=broad-exception-caught
        report.not_ok(f"{name} ended early: {err!r}", traceback.format_exc().splitlines())
    finally:
        if args.keep and report.failed:
            say(f"the files of '{name}' are in {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    return [report.passed, report.failed, report.skipped]


def main(args: argparse.Namespace) -> int:
    """The command."""
    parts, names = _wanted(args.words)
    if args.here and parts != ["kvm"]:
        raise Usage("test --here is for one part: ./vlwp test kvm --here")
    deps.ensure()
    for name in parts if names else ():
        _check(name, names, args.here)
    if args.gdb:
        if len(parts) != 1 or parts[0] not in ("flat", "linux"):
            raise Usage("test --gdb is for one test of flat or linux: ./vlwp test --gdb flat NAME")
        return PYTEST_PARTS[parts[0]].debug(names, args)
    if args.list or args.print:
        for name in parts:
            for line in _told(name, names, args):
                print(line)
        return 0
    sums, lines = [0, 0, 0], []
    for name in parts:
        print(f"== test {name}", flush=True)
        numbers, seconds = _run_part(name, names, args)
        sums = [one + other for one, other in zip(sums, numbers, strict=True)]
        lines.append("{:<10} {:5} passed, {} failed, {} skipped, {:.0f} s".format(name, *numbers, seconds))
    print("\n" + "\n".join(lines))
    print("{} passed, {} failed, {} skipped".format(*sums), flush=True)
    return int(sums[1] != 0)


def _told(name: str, names: list[str], args: argparse.Namespace) -> list[str]:
    """What --list and --print show."""
    if name in PYTEST_PARTS and not args.here:
        return PYTEST_PARTS[name].lines(names, "--print" if args.print else "--list")
    cases = _chosen(_load(name, args.here), name, names)
    return [f"{name} {case.name}: {case.shown() if args.print else case.line}" for case in cases]
