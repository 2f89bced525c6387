# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged streams: the saves of a profiled program, with bytes changed in what belongs to LWP, are loaded and the
program continues to its end. QEMU may refuse or run; it must not crash, and whatever LWP writes must go to block and
ring of the states that were accepted, through pages that the program may write itself."""

import re
from dataclasses import dataclass
from pathlib import Path

from lab.migrate.contain import Memory, Written
from lab.migrate.damage import AIMS, BASES, Damage, Save
from lab.migrate.machines import GAVE_UP, Task, ended, output

LOOPING = 10  # seconds; the program ends long before, and what a damaged one does is not waited for


@dataclass(frozen=True)
class Verdict:
    """What became of a stream."""

    number: int
    aim: str
    outcome: str  # refused, ran, looped, crashed
    faults: int  # #PFs, and whatever else kept the program from the end of a piece of code
    written: Written

    @property
    def accepted(self) -> bool:
        """It was loaded."""
        return self.outcome in ("ran", "looped")


class Worker:
    """Files and memory, for one machine at a time."""

    def __init__(self, task: Task, name: object):
        self.task, self.name, self.memory = task, f"fuzz{name}", Memory()

    def _run(self, save: Save, stream: Path) -> tuple[str, str]:
        """The outcome, and what the guest has printed."""
        self.memory.clear()
        extra = (*self.memory.words(), "-incoming", "defer")
        vm = self.task.source(save.base.cpu, save.base.append, *extra, name=self.name, fds=[self.memory.file])
        loaded = vm.load(stream)
        if loaded:
            vm.go()  # the program may be over before QEMU has answered
        status = ended(vm, LOOPING)
        if status >= 128:
            self.task.note(vm.said())
        accepted = "ran" if loaded else "refused"
        return "looped" if status == GAVE_UP else "crashed" if status >= 128 else accepted, output(vm)

    def attempt(self, number: int, save: Save, damage: Damage) -> Verdict:
        """Load a stream."""
        path = self.task.work / f"{self.name}.stream"
        path.write_bytes(damage.stream)
        outcome, said = self._run(save, path)
        written = Written()
        if outcome in ("ran", "looped"):
            written = save.territory.compare(self.memory.read(), save.spans(damage.stream))
        found = re.search(r"# faults (\d+)", said)
        return Verdict(number, damage.aim, outcome, int(found[1]) if found else 0, written)


def _undamaged(task: Task, saves: list[Save]) -> list[int]:
    """Without damage: what LWP writes is there to be seen, and lies where it belongs. Result: the faults of each."""
    worker = Worker(task, "")
    verdicts = [worker.attempt(at, save, save.undamaged()) for at, save in enumerate(saves)]
    for verdict in verdicts:
        if verdict.written.stray is not None:
            task.note(f"# base {verdict.number}: physical address {verdict.written.stray:#x}")
    contained = sum(v.outcome == "ran" and v.written.stray is None and not v.written.redirected for v in verdicts)
    wrote = sum(v.written.bytes > 0 for v in verdicts)
    task.ok(contained == len(saves),
            f"undamaged streams: {contained} of {len(saves)} write to their rings and blocks only")
    task.ok(wrote == len(saves), f"undamaged streams: {wrote} of {len(saves)} write")
    return [verdict.faults for verdict in verdicts]


def _work(number: int, task: Task, saves: list[Save], usual: list[int]) -> list[tuple[Verdict, bool]]:
    """Some of the streams, and whether the program was told of more #PFs than without damage."""
    worker, found = Worker(task, number), []
    for at in range(number, task.count, task.jobs):
        dice = task.dice(at)  # from the number and the seed alone
        which = dice.randrange(len(saves))
        verdict = worker.attempt(at, saves[which], saves[which].draw(dice))
        found.append((verdict, verdict.accepted and verdict.faults > usual[which]))
    return found


def fuzz(task: Task) -> None:
    """task.count damaged streams."""
    saves = [Save(task, number) for number in range(len(BASES))]
    usual = _undamaged(task, saves)
    found = [one for part in task.side_by_side(_work, task, saves, usual) for one in part]
    verdicts = [verdict for verdict, _ in found]
    for verdict in verdicts:
        if verdict.outcome == "crashed":
            task.note(f"# mutation {verdict.number} crashes QEMU")
        if verdict.written.stray is not None:
            task.note(f"# mutation {verdict.number}: LWP writes to physical address {verdict.written.stray:#x}")
    number = {word: sum(v.outcome == word for v in verdicts) for word in ("refused", "ran", "looped", "crashed")}
    accepted = [verdict for verdict in verdicts if verdict.accepted]
    plain = sum(not verdict.aim for verdict in accepted)
    wrote, redirected = (sum(bool(getattr(v.written, what)) for v in accepted) for what in ("bytes", "redirected"))
    stray = sum(verdict.written.stray is not None for verdict in accepted)
    task.note(f"# {number['refused']} refused, {number['ran']} ran to an end, {number['looped']} ran on; "
              f"{plain} not aimed were accepted")
    task.ok(len(verdicts) == task.count and not number["crashed"],
            f"{len(verdicts)} damaged streams, {number['crashed']} of them crash QEMU")
    task.ok(number["refused"] and plain, "some are refused and some are accepted")
    elsewhere = f"{redirected} elsewhere than before, {stray} where they must not"
    task.ok(wrote and redirected and not stray, f"of {len(accepted)} accepted {wrote} write, {elsewhere}")
    # What was aimed at was tried: with success where it may be written, with a fault elsewhere.
    for aim in AIMS:
        mine = [(verdict, faulted) for verdict, faulted in found if verdict.aim == aim and verdict.accepted]
        if aim == "writable":
            there, what = sum(bool(verdict.written.redirected) for verdict, _ in mine), "write"
        else:
            there, what = sum(faulted for _, faulted in mine), "fault"
        task.ok(there, f"aimed at pages that are {aim}: {len(mine)} accepted, {there} {what} there")
