# SPDX-License-Identifier: GPL-2.0-or-later
"""The flat suite under KVM: its rows with each instruction stepped, and some at random, of those that count and sample
and of others, with performance counters."""

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.common import places, proc
from lab.nested import l1
from lab.nested.l1 import L1
from lab.testing.suite import ELSEWHERE, IMAGE, OF_TOOL, ROWS, Row, failures, judged, line_of, read
from lab.tests.kvm.conftest import Done, InL1
from lab.tests.kvm.test_diff import SKIDS, TRACE
from lab.tests.plugin import Points, Tell, shows

LAB = L1(smp=1, limit=720)
COUNTERS = replace(SKIDS["0"].lab(LAB), limit=1440)
SECONDS = 360  # for a row
TOGETHER = 660  # for rows in one boot
# Rows of the flat suite that count and sample.
COUNTING = "ire ire_edges ire_special ire_sweep budget bre bre_forms filters segments simultaneous ring random".split()
DRAWN = 4  # of them, and of the other rows, with counters, at random; soak skid runs all
# Loads for other programs, and what only measures a host without counters.
NOTHING_OF_LWP = ("leaf_counted", *(row.name for row in ROWS if row.lab == OF_TOOL))
# What an emulator's translated code has to do at each distance of the due instruction; each is a step here. soak
# flat-kvm has them.
LONG = ("ire_sweep", "find_mmio")


def command(row: Row, seconds: int = SECONDS) -> list[str]:
    """The command line of a row in L1. Its errors are kept apart, so that they are not taken for the guest's output."""
    emulator = row.command(places.qemu(), IMAGE, "kvm", places.FIRMWARE)
    return ["timeout", "--signal=KILL", str(seconds), "sh", "-c", '"$@" 2>"$VLWP_SHARE/errors"', "-", *emulator]


def judge(row: Row, done: Done, points: Points) -> None:
    """A row's TAP, and what L1's kernel says."""
    said, _, complaints = done.said.partition("nested lab:")
    errors = (done.share / "errors").read_text(encoding="utf-8", errors="replace")
    status = done.status if done.status < 128 else 128 - done.status
    result = judged(said, errors, None if done.status in (124, 137) else status)
    points(result.tap.passed, result.failed, result.tap.skipped)
    assert not result.failed, "\n".join([f"{row.name}: {result.why}", *failures(result)])
    assert not complaints, complaints


Ends = dict[str, str]  # of rows, by name: what each has said


@pytest.fixture(scope="module")
def ends() -> Ends:
    """Of the rows that were booted together."""
    return {}


def boot_together(rows: list[Row], in_l1: InL1, place: Path) -> Ends:
    """Boot rows of one processor in one machine, as the suite that stands alone has them."""
    (place / "rows").write_text("".join(f"row {row.name} - {row.words()}\n" for row in rows), encoding="utf-8")
    row = replace(rows[0], cpus=max(row.cpus for row in rows))
    done = in_l1(LAB, [*command(row, TOGETHER), "-initrd", str(place / "rows"), "-append", f"minutes={TOGETHER // 60}"])
    said, _, complaints = done.said.partition("nested lab:")
    print((done.share / "errors").read_text(encoding="utf-8", errors="replace"))
    assert not complaints, complaints
    parts = re.split(r"^# row (\S+)\r?\n", said, flags=re.MULTILINE)
    return {row.name: "" for row in rows} | dict(zip(parts[1::2], parts[2::2]))


@shows(line_of, lambda row: l1.shown(LAB, command(row)))
@pytest.mark.xdist_group("flat")
@pytest.mark.parametrize("row", [
    pytest.param(row, id=row.name, marks=[
        *([pytest.mark.soak] if row.name in LONG else []), *([pytest.mark.elsewhere] if row.name in ELSEWHERE else []),
    ]) for row in ROWS if row.lab != OF_TOOL
])
def test_flat(
    row: Row, in_l1: InL1, points: Points, ends: Ends, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if not row.offered("kvm"):
        pytest.skip(f"kvm does not offer {row.needs}")
    if row.lab:
        judge(row, in_l1(LAB, command(row)), points)
        return
    if row.name not in ends:
        flat = [item for item in request.session.items if isinstance(item, pytest.Function)]
        rows: list[Any] = [item.callspec.params["row"] for item in flat if item.originalname == "test_flat"]
        alike = [one for one in rows if one.cpu == row.cpu and one.offered("kvm") and not one.lab]
        ends.update(boot_together(alike, in_l1, tmp_path))
    tap = read(ends[row.name])
    points(tap.passed, tap.failed, tap.skipped)
    assert tap.plan == tap.points and not tap.failed and not tap.bail, f"{row.name}: not all points\n{ends[row.name]}"


def counted() -> list[Row]:
    """The rows that KVM runs with counters."""
    return [row for row in ROWS if row.offered("kvm") and row.name not in NOTHING_OF_LWP]


def _in_turn(in_l1: InL1, lab: L1, rows: list[Row], seconds: int = SECONDS) -> tuple[list[tuple[Row, Done]], Done]:
    """Rows with counters, one after the other, in one trace. Result: how each has ended, and all."""
    script = "status=0; " + "; ".join(
        f'mkdir "$VLWP_SHARE/{row.name}"; VLWP_SHARE=$VLWP_SHARE/{row.name} {proc.quoted(command(row, seconds))} '
        f'>"$VLWP_SHARE/{row.name}/said"; echo $? >"$VLWP_SHARE/{row.name}/status"' for row in rows
    )
    done = in_l1(lab, [TRACE, "sh", "-c", script])
    ended = []
    for row in rows:
        place = done.share / row.name
        said, status = (place / "said").read_text(errors="replace"), int((place / "status").read_text())
        ended.append((row, Done(status, said, place)))
    assert done.status == 0, done.said
    return ended, done


def _read_and_late(done: Done, tell: Tell) -> int:
    """The counter was read. Result: how many records were late."""
    reads, overshoots = int((done.share / "reads").read_text()), (done.share / "overshoots").read_text().splitlines()
    tell(f"the counter was read {reads} times; {len(overshoots)} overshoots")
    assert reads, "no counter was used"
    return len(overshoots)


def test_flat_counted(in_l1: InL1, seed: int, points: Points, tell: Tell) -> None:
    """Some rows of the flat suite that count and sample, and some others, with counters that interrupt on time."""
    others, lot = sorted(row.name for row in counted() if row.name not in COUNTING), random.Random(seed)
    drawn = [*lot.sample(COUNTING, DRAWN), *lot.sample(others, DRAWN)]
    tell(f"drawn: {' '.join(drawn)}")
    ended, done = _in_turn(in_l1, COUNTERS, [row for row in ROWS if row.name in drawn])
    for row, one in ended:
        judge(row, one, points)
    assert not _read_and_late(done, tell), "records are late"


@pytest.mark.soak
@pytest.mark.parametrize("name", SKIDS)
def test_flat_skid(in_l1: InL1, tell: Tell, name: str) -> None:
    """All rows with counters that interrupt late. As many rows may fail as records may be, and are, late."""
    skid = SKIDS[name]
    ended, done = _in_turn(in_l1, replace(skid.lab(LAB), limit=None), counted(), 2 * SECONDS)
    late = _read_and_late(done, tell)
    assert skid.permille or not late
    failed = []
    for row, one in ended:
        try:
            judge(row, one, lambda *_: None)
        except AssertionError as err:
            failed.append(str(err))
    tell(f"{len(failed)} rows have seen a late record")
    assert len(failed) <= late, "\n".join(failed)
