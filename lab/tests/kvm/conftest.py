# SPDX-License-Identifier: GPL-2.0-or-later
"""L1 of the nested lab, which is kept running from test to test."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.common import proc
from lab.common.kit import machine
from lab.nested import l1
from lab.nested.l1 import L1
from lab.nested.programs import Run
from lab.tests.conftest import run
from lab.tests.kvm import here


@dataclass(frozen=True)
class Done:
    """A command in L1 that has ended."""

    status: int  # 124: it was given up
    said: str  # its output and errors, and what L1's kernel complains about
    share: Path  # the files that it has left


InL1 = Callable[[L1, Sequence[proc.Word]], Done]
OnMachine = Callable[[Run, Sequence[proc.Word]], Done]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What machine this is."""
    return [*machine.described(), f"{'kvm_amd':<15}{machine.parameters()}"] if config.getoption("--here") else []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """This machine runs the programs."""
    if config.getoption("--here"):
        items[:] = [item for item in items if "on_machine" in getattr(item, "fixturenames", ())]


class Sessions:
    """One L1 at a time: another machine takes its place."""

    def __init__(self, factory: pytest.TempPathFactory):
        self.factory = factory
        self.session: l1.Session | None = None

    def of(self, lab: L1) -> l1.Session:
        """The one that fits, booted if it is not there."""
        if not self.session or not self.session.fits(lab):
            self.end()
            self.session = l1.Session(lab, self.factory.mktemp("l1"))
        return self.session

    def end(self) -> None:
        """No L1 is left."""
        if self.session:
            self.session.end()
        self.session = None


@pytest.fixture(scope="package")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    """Of this worker. None is left for tests of other parts."""
    every = Sessions(tmp_path_factory)
    yield every
    every.end()


@pytest.fixture
def in_l1(sessions: Sessions, tmp_path: Path) -> InL1:
    """Runs a command in the L1 that is wanted."""
    numbers = iter(range(1000))

    def run(lab: L1, command: Sequence[proc.Word]) -> Done:
        place = tmp_path / f"l1-{next(numbers)}"
        status = sessions.of(lab).do(lab, place, command)
        said = (place / "log").read_text(encoding="utf-8", errors="replace")
        print(f"$ {proc.quoted(command)}\n{said}[status {status}]")
        return Done(status, said, place / "share")

    return run


@pytest.fixture
def on_machine(pytestconfig: pytest.Config, request: pytest.FixtureRequest, tmp_path: Path) -> OnMachine:
    """Runs a program of the table in its L1, or with --here on this machine."""
    if not pytestconfig.getoption("--here"):
        in_l1: InL1 = request.getfixturevalue("in_l1")
        return lambda row, command: in_l1(row.lab(), command)

    def on_this(row: Run, command: Sequence[proc.Word]) -> Done:
        if lack := here.lacks(row):
            pytest.skip(f"needs {lack}")
        ended = run(command)
        return Done(ended.status, ended.said, tmp_path)

    return on_this
