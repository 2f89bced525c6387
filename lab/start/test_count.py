# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of count.py and trace.py: what counters and windows amount to."""

import argparse
import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.common.say import Died, Usage
from lab.guest import files
from lab.nested.machine import Machine
from lab.start import count


def thread(initial: int, final: int, records: int = 0, **changed: Any) -> dict[str, Any]:
    """A thread as lwpctl reports it, with one counter."""
    counter = {"event": "branches", "records": records, "initial": initial, "final": final}
    return {"tid": 7, "name": "t", "program": 0, "missed": 0, "lost": False, "counters": [counter], **changed}


def test_a_counter_counts_down() -> None:
    """Without a record it is the difference."""
    assert count.counted(thread(1000, 900), "branches") == 100


def test_each_record_is_a_whole_interval() -> None:
    """Every 2^25 events."""
    assert count.counted(thread(1000, 900, records=2), "branches") == 2 * 33554432 + 100


def test_a_counter_below_zero_is_signed() -> None:
    """3FFFFFEh is -2: two events are still due."""
    assert count.counted(thread(1000, 0x3FFFFFE), "branches") == 1002


def test_what_is_not_known_of_threads_is_the_rest() -> None:
    """A thread that was killed, missed events or lost its context; the processors have counted all of them."""
    killed = thread(1000, 900)
    del killed["counters"][0]["final"]
    threads = [thread(1000, 900), killed, thread(1000, 900, missed=1), thread(1000, 900, lost=True)]
    one = count.of_report({"threads": threads, "losses": {"rings_filled": 1}, "programs": []}, {"branches": 450})
    assert (one.total, one.others, one.rest("branches")) == ({"branches": 450}, 3, 350)
    assert one.not_counted == {"lost": 1}
    assert re.search(r"\n3 threads that their process ended +350\n", count.table([one]))


def test_threads_of_a_name_can_be_one_row() -> None:
    """With --by=name: their sum; else each has its row."""
    threads = [thread(1000, 1000 - counted, name=name) for name, counted in (("sh", 1), ("cc", 5), ("sh", 2))]
    one = count.of_report({"threads": threads, "losses": {}, "programs": []}, {"branches": 8})
    assert re.findall(r"^'(\w+)' +(\d+)$", count.table([one], by_name=True), re.MULTILINE) == [("sh", "3"), ("cc", "5")]
    assert len(count.table([one]).splitlines()) == 5


def test_what_is_not_counted_is_told() -> None:
    """A program that cannot be profiled, and one that still runs."""
    programs = [{"end": "exit"}, {"end": "running"}]
    report = {"threads": [thread(1000, 900)], "losses": {"execs_unfollowed": 2}, "programs": programs}
    text = count.table([count.of_report(report, {"branches": 100})])
    assert "NOT counted: 2 programs that cannot be profiled" in text
    assert "counted until then: 1." in text


def test_each_thread_has_a_row() -> None:
    """As the guest's init writes them; a name may have spaces."""
    text = "total 12 3\nthread 7 7 10 3 sh\nthread 7 9 2 0 a b\nleft 1\n"
    one = count.of_counts(text, ("instructions", "branches"), 5)
    assert (one.total, one.status, one.running) == ({"instructions": 12, "branches": 3}, 5, 1)
    assert one.threads[1] == {"process": 7, "tid": 9, "name": "a b", "counts": {"instructions": 2, "branches": 0}}
    assert "process 7, 9 'a b'" in count.table([one]) and not one.rest("instructions")


@pytest.fixture
def given() -> Iterator[int]:
    """Writes to the standard input."""
    (read, write), old = os.pipe(), os.dup(0)
    os.dup2(read, 0)
    yield write
    os.dup2(old, 0)
    for number in (read, write, old):
        os.close(number)


def test_it_is_kept(given: int, tmp_path: Path) -> None:
    """All of it."""
    os.write(given, b"line")
    os.dup2(os.open(os.devnull, os.O_WRONLY), given)
    assert files.keep_input(tmp_path / "input") == tmp_path / "input"
    assert (tmp_path / "input").read_bytes() == b"line"


def test_too_much_is_refused(given: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an endless one is."""
    os.write(given, bytes(100))
    monkeypatch.setattr(files, "MAX_INPUT", 99)
    with pytest.raises(Died, match="standard input: more than"):
        files.keep_input(tmp_path / "input")


def run(number: int) -> count.Run:
    """A run of one thread."""
    counts = {"branches": number}
    return count.Run(counts, [{"program": 0, "name": "t", "tid": 7, "counts": counts}])


def test_the_limit_itself_is_allowed() -> None:
    """More than it is not."""
    assert count.exceeded([run(5)], [("branches", 5)]) == []
    assert count.exceeded([run(5), run(6)], [("branches", 5)]) == ["branches: 6 are more than 5"]


def test_a_limit_that_is_none_is_refused() -> None:
    """An event that is not counted, or no number."""
    options = argparse.ArgumentParser(exit_on_error=False)
    count.add_options(options)
    for text in ("cycles:5", "branches", "branches:-1", "branches:x"):
        with pytest.raises((argparse.ArgumentError, SystemExit)):
            with contextlib.redirect_stderr(None):
                options.parse_args([f"--max={text}"])


def test_runs_that_differ_are_told() -> None:
    """And those that do not."""
    assert "branches: not the same in all 2 runs: 5 to 6" in count.table([run(6), run(5)])
    assert "are the same in all 2 runs." in count.table([run(5), run(5)])


def test_what_is_not_counted_is_not_told() -> None:
    """Misses are never said to be the same."""
    assert "\nBranches are the same in all 2 runs." in count.table([run(5), run(5)])
    misses = count.Run({count.MISSES: 5}, [])
    assert "same" not in count.table([misses, misses])


def test_all_that_the_guest_has() -> None:
    """Under TCG, not with every profile of it. KVM estimates misses for those who choose them."""
    guests = ((Machine(), count.EVENTS), (Machine("kvm"), count.EVENTS[:2]),
              (Machine(cpu="lwp-rev=2007"), count.EVENTS[:2]))
    for guest, events in guests:
        assert count.events_of(guest, (), []) == events
    assert count.events_of(Machine("kvm"), (count.MISSES,), []) == (count.MISSES,)


def test_the_users_choice() -> None:
    """In the order of the table, each once."""
    options = argparse.ArgumentParser()
    count.add_options(options)
    args = options.parse_args(["--events=branches,instructions,branches"])
    assert count.events_of(Machine(), args.events, []) == ("instructions", "branches")


def test_what_is_not_there_is_refused() -> None:
    """Misses without caches, and a limit of what is not counted."""
    with pytest.raises(Died):
        count.events_of(Machine("kvm", cpu="lwp-rev=2007"), (count.MISSES,), [])
    with pytest.raises(Usage):
        count.events_of(Machine(), ("branches",), [("instructions", 1)])
    assert count.events_of(Machine(), ("branches",), [("branches", 1), (count.TAKEN, 1)]) == ("branches",)
