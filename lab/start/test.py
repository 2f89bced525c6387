# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the tests: all of them, the named PARTs, or of one PART the tests whose names are NAMEs (a name, a part of
one, or a pattern as of a shell)."""

import argparse
import os
import threading
import time

from lab.building import deps
from lab.common.places import BUILD
from lab.common.say import Usage
from lab.start import near
from lab.tests.kvm import here
from lab.tests.pytest_part import PARTS, Sums, add_options as add_pytest_options, run

TAKES_BASE = True
FAST = ("lab", "unit")
HEADER = """# SPDX-License-Identifier: GPL-2.0-or-later
# What the last whole ./vlwp test printed. docs/testing.md has its seconds from here."""

Session = tuple[list[str], list[str]]  # parts, and names in them


def add_options(parser: argparse.ArgumentParser) -> None:
    parts = "; ".join(f"{part.name}: {part.summary}" for part in PARTS.values())
    parser.add_argument("words", nargs="*", metavar="PART [NAME...]", help=f"{parts}; all")
    parser.add_argument("--list", action="store_true", help="name the tests with a line each, and run none")
    parser.add_argument("--print", action="store_true", help="show the command line of each test, and run none")
    parser.add_argument(
        "--near", nargs="?", const="HEAD", metavar="REV", help="the tests nearest to what has changed since REV (HEAD)"
    )
    parser.add_argument("--gdb", action="store_true", help="flat, linux: start one test's machine stopped, for gdb")
    parser.add_argument("--here", action="store_true", help="kvm: on this machine's own /dev/kvm")
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


def main(args: argparse.Namespace) -> int:
    if args.near:
        return _near(args)
    parts, names = _wanted(args.words)
    if args.here and parts != ["kvm"]:
        raise Usage("test --here is for one part: ./vlwp test kvm --here")
    if args.here and not args.list and not args.print:
        here.require()
    deps.ensure()
    options = ["--print" if args.print else "--list", *(["--here"] if args.here else [])]
    lines = [PARTS[name].lines(names, *options) for name in (parts if names or args.list or args.print else ())]
    if args.gdb:
        if len(parts) != 1 or parts[0] not in ("flat", "linux"):
            raise Usage("test --gdb is for one test of flat or linux: ./vlwp test --gdb flat NAME")
        return PARTS[parts[0]].debug(names, args)
    if args.list or args.print:
        print("\n".join(line for part in lines for line in part))
        return 0
    return _run([([name], names) for name in parts] if names else _sessions(parts), args)


def _near(args: argparse.Namespace) -> int:
    """Choose, say what and why, and run that."""
    if args.words or args.here or args.gdb:
        raise Usage("test --near chooses by itself: no names, no --here, no --gdb")
    deps.ensure()
    found = near.near(args.near)
    for line in near.told(found):
        print(line, flush=True)
    chosen = {part: [name for name in found.names(part) if near.runs(found, part, name)] for part in PARTS}
    if not any(chosen.values()):
        print("no test is near to what has changed")
    return 0 if args.list else _run([([part], names) for part, names in chosen.items() if names], args)


def _sessions(parts: list[str]) -> list[Session]:
    """Fast parts first; then those that need machines, together. What is shortest there ends it."""
    fast: list[Session] = [([name], []) for name in parts if name in FAST]
    rest = [name for name in reversed(PARTS) if name in parts and name not in FAST]
    return fast + ([(rest, [])] if rest else [])


def _prepare(names: list[str]) -> None:
    """Build what parts need, with less right to the processors than tests that run meanwhile have."""
    os.nice(10)  # of this thread and what it starts
    for name in names:
        try:
            PARTS[name].prepare()
        except Exception:  # pylint: disable=broad-except  # the part says so in its turn, or all ends
            return


def _run(sessions: list[Session], args: argparse.Namespace) -> int:
    """Run them, and print the sums. Result: the exit status."""
    if args.junitxml and len(sessions) > 1:
        raise Usage("test --junitxml is for one of lab and unit, or for the parts with machines: name them")
    sums: Sums = {}
    begin = time.monotonic()
    later = [name for parts, _ in sessions[1:] for name in parts]
    threading.Thread(target=_prepare, args=(later,), daemon=True).start()
    for parts, names in sessions:
        print(f"== test {' '.join(parts)}", flush=True)
        sums |= run([PARTS[name] for name in parts], names, args)
    print()
    ordered = sorted(sums.items(), key=lambda each: [*PARTS].index(each[0]))
    lines = ["{:<10} {:5} passed, {} failed, {} skipped, {:.0f} s".format(name, *numbers) for name, numbers in ordered]
    lines.append(f"{'all':<10} {time.monotonic() - begin:.0f} s, with what was built")
    print("\n".join(lines))
    if {*sums} == {*PARTS} and not any(names for _, names in sessions):
        (BUILD / "parts").write_text("\n".join([HEADER, *lines, ""]), encoding="ascii")
    passed, failed, skipped, _ = map(sum, zip(*sums.values()))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return int(failed != 0)
