# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots inside one process (savevm, loadvm): a machine is saved at a point of the program, runs on, goes back, and
ends as if nothing had been, although its engine was in use when the snapshot was loaded."""

from pathlib import Path

from lab.migrate.machines import Task, ended, output
from lab.migrate.points import PROGRAMS, Steps, reference, results
from lab.testing.suite import PASSED
from lab.tests.disk import Disk

LONGEST_RUN = 2000  # steps between saving and going back


def test_snapshot(tmp_path: Path, seed: int, scale: int) -> None:
    """Saved, continued and restored ten times, a machine ends as the undisturbed run."""
    task, program, count = Task(tmp_path, seed), PROGRAMS[0], 10 * scale
    text, steps = reference(task, program)
    vm, dice = task.source(program.cpu, program.append, "-S"), task.dice()
    machine, disk = Steps(task, vm), Disk(vm, tmp_path / "disk")
    origin, part = 0, (steps - LONGEST_RUN) // count  # going back implies a reset, from which steps are counted
    for number in range(count):
        machine.run_to(1 + number * part + part // 2 + dice.randrange(part // 2) - origin, dice)
        saved_at = machine.now()
        disk.save(f"s{number}")
        machine.run_to(saved_at + 1 + dice.randrange(LONGEST_RUN), dice)
        disk.load(f"s{number}")
        origin += saved_at
    vm.go()
    assert ended(vm) == PASSED and results(output(vm)) == results(text)
