# SPDX-License-Identifier: GPL-2.0-or-later
"""What ./vlwp test adds to pytest: points that a program counts for itself, names of tests as users write them, the
command lines of tests, and one seed for all that is drawn.

A test passes as one point, or as those that its fixture `points` was told. Words of `tell` are shown beside it."""

import json
import os
import random
import signal
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest

from lab.common import proc
from lab.common.options import SEED, part as part_option
from lab.common.places import TOP

TESTS = TOP / "lab/tests"
ENDING = (signal.SIGINT, signal.SIGTERM)
SEED_VARIABLE = "VLWP_SEED"  # workers have it, too
COVERED = pytest.StashKey[list[pytest.Item]]()  # tests whose work another one does, with that of others
Points = Callable[[int, int, int], None]
Tell = Callable[[str], None]
Test = TypeVar("Test", bound=Callable[..., object])


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; ./vlwp test gives them."""
    group = parser.getgroup("vlwp")
    group.addoption("--only", action="append", default=[], metavar="NAME", help="a name, a part of one, or a pattern")
    group.addoption("--print", action="store_true", help="the command line of each test; run none")
    group.addoption("--list", action="store_true", help="name the tests with a line each; run none")
    group.addoption("--here", action="store_true", help="kvm: on this machine's own /dev/kvm, with a report")
    group.addoption("--replay", metavar="SEED,N", help="kvm diff: of the programs of a seed one alone")
    group.addoption("--gdb", action="store_true", help="start one test's machine stopped, for gdb")
    group.addoption("--seed", type=int, metavar="N", help="of what is drawn")
    group.addoption("--results", type=Path, metavar="FILE", help="what a test has found on the same code is there")
    group.addoption("--part", type=part_option, default=(1, 1), metavar="I/N", help="of the tests of a suite these")
    group.addoption("--sums", type=Path, metavar="FILE", help="write the numbers of points there")
    group.addoption("--scale", type=int, default=1, metavar="N", help="so many times as much of what is drawn")


def _ended(number: int, _frame: FrameType | None) -> None:
    """The first of these signals ends the tests, and no other disturbs what they do then."""
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(number).name)


def pytest_configure(config: pytest.Config) -> None:
    """One seed for all workers, which leave no bytecode in the tree. Ended by a signal, tests clean up."""
    for number in () if hasattr(config, "workerinput") else ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # a shell ignores SIGINT for what it starts with &
            signal.signal(number, _ended)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    given = config.getoption("--seed")
    os.environ.setdefault(SEED_VARIABLE, str(random.SystemRandom().randint(0, SEED)))
    if given is not None:
        os.environ[SEED_VARIABLE] = str(given)
    config.pluginmanager.register(Sums(config), "vlwp-sums")


def pytest_report_header() -> str:
    """The seed, with which a run is repeated."""
    return f"seed {os.environ[SEED_VARIABLE]}, again with --seed={os.environ[SEED_VARIABLE]}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """What a test has started and not ended."""
    if not hasattr(config, "workerinput"):  # of xdist
        os.environ.pop(SEED_VARIABLE, None)
    proc.end_all()


def part_of(path: Path) -> str:
    """The part of ./vlwp test, by a test's file."""
    if path.parent.match("host-tools/tests"):
        return "unit"
    return path.parent.name if TESTS in TOP.joinpath(path).parents else "lab"


def name_of(item: pytest.Item) -> str:
    """As a user names it: the row of a table, or the function."""
    row = getattr(item, "callspec", None)
    function = getattr(item, "originalname", item.name).removeprefix("test_")
    if not row:
        return str(function)
    return str(row.id) if function == "row" else f"{function}/{row.id}"


def shows(line: Callable[..., object], command: Callable[..., object] | None = None) -> Callable[[Test], Test]:
    """Decorator: what --list says of a test with these parameters, and the command line that --print shows."""

    def mark(function: Test) -> Test:
        setattr(function, "vlwp_shows", (line, command))
        return function

    return mark


def _shown(item: pytest.Item, which: int) -> str:
    function = getattr(getattr(item, "function", None), "vlwp_shows", (None, None))[which]
    row = getattr(item, "callspec", None)
    return str(function(**(row.params if row else {}))) if function else ""


def line_of(item: pytest.Item) -> str:
    """What is said of it."""
    text = getattr(getattr(item, "function", None), "__doc__", "") or ""
    return _shown(item, 0) or " ".join(text.split("\n\n")[0].split())


def means(item: pytest.Item, word: str) -> bool:
    """Is a test meant by a part of its name, by a pattern of its name or its row's, or by its file?"""
    row = getattr(item, "callspec", None)
    name = name_of(item)
    return word in name or word == item.path.name or fnmatchcase(name, word) or bool(row and fnmatchcase(row.id, word))


def chosen(items: list[pytest.Item], only: list[str]) -> list[pytest.Item]:
    """Those that are meant: by their whole names if there are such, else by parts of names and patterns."""
    whole = {name_of(item) for item in items}
    return [
        item for item in items
        if any(name_of(item) == word if word in whole else means(item, word) for word in only)
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose by name; for gdb, of those that can. Long ones go first."""
    only, kept = config.getoption("--only"), items
    if config.getoption("--gdb"):
        kept = [item for item in kept if "gdb" in getattr(item, "fixturenames", ())]
    if only:
        kept = chosen(kept, only)
    whole = {getattr(item, "originalname", "") for item in kept if not item.get_closest_marker("alone")}
    alone = [] if config.getoption("--here") else [item for item in kept if item.get_closest_marker("alone")]
    covered = [item for item in alone if getattr(item, "originalname") in whole]
    config.stash[COVERED] = covered
    kept = [item for item in kept if item not in covered]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = sorted(kept, key=lambda item: not item.get_closest_marker("long"))


# A name means one of the tests that -k and -m have left.
pytest.hookimpl(trylast=True)(pytest_collection_modifyitems)


def pytest_collection_finish(session: pytest.Session) -> None:
    """A name that means no test is the user's mistake."""
    items = session.items + session.config.stash.get(COVERED, [])
    for word in session.config.getoption("--only") if not session.config.getoption("--gdb") else ():
        if not chosen(items, [word]):
            raise pytest.UsageError(f"no test '{word}'")  # lab/tests/pytest_part.py looks for it


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """--list and --print run nothing."""
    for item in session.items if session.config.getoption("--list") else ():
        print(f"{part_of(item.path)} {name_of(item)}: {line_of(item)}")
    for item in session.items if session.config.getoption("--print") else ():
        path, line, _ = item.location
        print(f"{part_of(item.path)} {name_of(item)}: {_shown(item, 1) or f'# {path}:{(line or 0) + 1}'}")
    return True if session.config.getoption("--list") or session.config.getoption("--print") else None


@pytest.fixture
def points(request: pytest.FixtureRequest) -> Points:
    """points(passed, failed, skipped): what a program has counted."""
    numbers = [0, 0, 0]
    request.node.user_properties.append(("points", numbers))

    def add(*more: int) -> None:
        numbers[:] = [one + other for one, other in zip(numbers, more, strict=True)]

    return add


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Tell:
    """A line for the reader, whatever the result."""
    def add(text: str) -> None:
        request.node.user_properties.append(("tell", text))

    return add


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A seed of the test's own, from that of the run."""
    return random.Random(f"{os.environ[SEED_VARIABLE]} {request.node.nodeid}").randint(0, SEED)


@pytest.fixture
def gdb(pytestconfig: pytest.Config) -> bool:
    """Is the machine of the only test to wait for gdb? For tests that have one of their own."""
    return bool(pytestconfig.getoption("--gdb"))


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> int:
    """How many times as much is wanted."""
    return int(request.config.getoption("--scale"))


class Sums:
    """The numbers of points of each part, where results of all workers come together, and its share of the time."""

    def __init__(self, config: pytest.Config):
        self.config = config
        self.parts: dict[str, list[float]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test has ended."""
        properties: list[tuple[str, Any]] = report.user_properties
        sums = self.parts.setdefault(part_of(Path(report.nodeid.partition("::")[0])), [0, 0, 0, 0])
        sums[3] += report.duration / (getattr(self.config.option, "numprocesses", 0) or 1)
        if report.when == "call":
            for text in [value for name, value in properties if name == "tell"]:
                self._line(f"    {text}")
        counted = next((value for name, value in properties if name == "points"), [0, 0, 0])
        if report.when == "call" or not report.passed and report.when == "setup" or report.failed:
            mine = counted if report.when == "call" else [0, 0, 0]
            if report.failed:
                mine = [mine[0], max(mine[1], 1), mine[2]]
            elif report.skipped:
                mine = [0, 0, 1]
            elif not any(mine):
                mine = [1, 0, 0]
            sums[:3] = [one + other for one, other in zip(sums, mine)]

    def _line(self, text: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter:
            reporter.ensure_newline()
            reporter.write_line(text)

    def pytest_terminal_summary(self) -> None:
        """Before what pytest says of tests."""
        for part, sums in self.parts.items():
            self._line("points of {}: {} passed, {} failed, {} skipped".format(part, *sums))

    def pytest_sessionfinish(self) -> None:
        """For who adds up several runs."""
        path = self.config.getoption("--sums")
        if path and not hasattr(self.config, "workerinput"):
            path.write_text(json.dumps(self.parts), encoding="ascii")
