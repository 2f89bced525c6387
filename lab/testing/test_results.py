# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of results.py: what is drawn, and which runs are wrong."""

import re
import time
from pathlib import Path
from unittest import mock

from lab.testing.results import EVENTS, INTERVALS, PROGRAMS, Run, Wanted, chunks, draw, judge, missing

RUN = Run(7, "perl", 2, "instructions", 97)
WANTED = Wanted(0, b"197415\n")


def test_everything_is_drawn() -> None:
    """Each program, event and number of processors, and intervals between the two bounds; the same again."""
    runs = [draw(seed, list(PROGRAMS)) for seed in range(500)]
    assert {run.program for run in runs} == set(PROGRAMS)
    assert {run.event for run in runs} == set(EVENTS["tcg"])
    assert {run.smp for run in runs} == {2, 4}
    assert all(INTERVALS[0] <= run.interval <= INTERVALS[1] for run in runs if run.event != "windows")
    assert runs == [draw(seed, list(PROGRAMS)) for seed in range(500)]


def test_windows_under_kvm_are_of_the_program_with_few_branches() -> None:
    """Of those that are wanted: a result that is not known cannot be judged."""
    for programs, want in ((["flags", "sum-short"], {"sum-short"}), (["flags"], {"flags"})):
        runs = [draw(seed, programs, "kvm") for seed in range(100)]
        assert {run.program for run in runs if run.event == "windows"} == want


def test_no_run_is_left_out() -> None:
    """Each is in one part, whose guest has its number of processors."""
    runs = [draw(seed, list(PROGRAMS)) for seed in range(100)]
    parts = chunks(runs, 3)
    assert sorted(run.seed for part in parts for run in part) == list(range(100))
    for part in parts:
        assert {run.smp for run in part} == {part[0].smp}
        assert len(part) <= 3 * part[0].smp


def test_a_program_that_is_built_here_is_not_missing() -> None:
    """In a fresh checkout it is built when the others are known to be there."""
    with mock.patch("shutil.which", return_value=None):
        assert missing(["flags", "perl", "xz"]) == ["perl", "xz"]
    with mock.patch("shutil.which", return_value="/bin/true"):
        assert missing(list(PROGRAMS)) == []


def judged(place: Path, status: str, out: bytes, err: bytes = b"", ahead: float = 0) -> str | None:
    """What is said of a run that has left this."""
    text = f"{status} {time.time() + ahead:.0f}\n" if status else ""
    for kind, data in (("status", text.encode()), ("out", out), ("err", err)):
        (place / f"7.{kind}").write_bytes(data)
    return judge(place, RUN, WANTED)


def test_output_and_status_are_the_result(tmp_path: Path) -> None:
    """What a program says on its standard error is no part of it."""
    assert judged(tmp_path, "0", WANTED.output, b"a word") == ""
    assert judged(tmp_path, "0", b"197416\n") == "status 0: '197416'"
    assert judged(tmp_path, "1", WANTED.output, b"\n# \x1b[1m\n") == r"status 1: '# \x1b[1m'"
    assert judged(tmp_path, "134", b"") == "status 134: ''"


def test_a_clock_that_is_wrong_is_told(tmp_path: Path) -> None:
    """The guest's patience was another; what is right stays so."""
    assert judged(tmp_path, "0", WANTED.output, ahead=-400) == ""
    assert judged(tmp_path, "137", b"", ahead=-5) == "status 137: ''"
    told = judged(tmp_path, "137", b"", ahead=4000)
    assert re.search(r"^status 137, the guest's clock is (3999|4000|4001) s ahead: ''$", told or "")


def test_a_run_without_status_has_not_ended(tmp_path: Path) -> None:
    """Its output may be whole by then."""
    assert judge(tmp_path, RUN, WANTED) is None
    assert judged(tmp_path, "", WANTED.output) is None
