# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the directories of runs, and of what is said of guests."""

import tempfile
from pathlib import Path

import pytest

from lab.guest import vm
from lab.nested import machine


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for those of runs."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_nothing_is_left(place: Path) -> None:
    with vm.run_directory() as run:
        assert (run / "share").is_dir()
    assert list(place.iterdir()) == []


def test_the_next_run_removes_what_a_killed_one_left(place: Path) -> None:
    killed = place / "vlwp.killed"
    (killed / "share").mkdir(parents=True)
    (killed / vm.LOCK).touch()
    with vm.run_directory():
        assert not killed.exists()


def test_a_run_that_goes_on_keeps_its_directory() -> None:
    with vm.run_directory() as first, vm.run_directory() as second:
        assert (first / "share").is_dir() and (second / "share").is_dir()


def test_other_directories_stay(place: Path) -> None:
    other = place / "vlwp.other"
    other.mkdir()
    with vm.run_directory():
        pass
    assert other.is_dir()


def test_many_processors_on_few_are_said_to_take_long() -> None:
    assert "64 processors on the 2" in machine.patience(64, 2)


def test_a_usual_guest_is_booted_without_a_word() -> None:
    assert [machine.patience(2, 2), machine.patience(4, 2)] == ["", ""]
