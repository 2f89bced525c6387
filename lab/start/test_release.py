# SPDX-License-Identifier: GPL-2.0-or-later
"""What must pass before a release (release.py)."""

import argparse
from pathlib import Path

import pytest

from lab.commands import SOAKS
from lab.common import proc
from lab.common.say import Died
from lab.start import release


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was run; the second command fails."""
    ran: list[str] = []

    def call(argv: list[proc.Word]) -> int:
        ran.append(" ".join(map(str, argv[1:])))
        return int(ran[-1] == release.commands()[1])

    monkeypatch.setattr(release, "FOLDER", tmp_path)
    monkeypatch.setattr(proc, "call", call)
    monkeypatch.setattr(proc, "output", lambda argv: "0123456789abcdef\n" if "rev-parse" in argv else "")
    return ran


def test_all_soaks_are_part_of_it() -> None:
    """And the whole test is the first."""
    listed = release.commands()
    assert listed[0] == "test" and {soak.name for soak in SOAKS} <= {line.split()[1] for line in listed[1:]}


def test_what_has_passed_is_not_run_again(run: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """What has failed is."""
    with pytest.raises(Died, match="1 of"):
        release.main(argparse.Namespace(list=False, resume=False))
    assert run == release.commands()
    run.clear()
    with pytest.raises(Died, match="1 of"):
        release.main(argparse.Namespace(list=False, resume=True))
    assert run == [release.commands()[1]]


def test_changes_that_are_not_committed_are_refused(run: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run."""
    monkeypatch.setattr(proc, "output", lambda argv: " M a.c\n")
    with pytest.raises(Died, match="commit it"):
        release.main(argparse.Namespace(list=False, resume=False))
    assert not run
