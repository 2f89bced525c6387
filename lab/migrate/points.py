# SPDX-License-Identifier: GPL-2.0-or-later
"""Saving and restoring at many points of one program (guest-tests/flat/tests/migrate.c), which goes through all states
of the engine and prints at its end what is in block and ring. One machine stops at all points, is saved and continues;
a fresh process takes each save up and runs to the end. All of them must print what a machine prints that nobody has
disturbed.

Points are steps: under TCG those of the property x-lwp-steps, under KVM exits of the vCPU that LWP has asked for. Half
of those with a pending record are followed by the way to where it is stored, or faults."""

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

from lab.common.qmp import Refused, Vm
from lab.migrate import stepper
from lab.migrate.machines import Task, ended, output
from lab.testing.suite import PASSED

# Of 1,000 points, at least so many must fall into each state; under KVM of 100.
LEAST_OF_1000 = 20
LEAST_OF_100_KVM = 3
DRAWS_AGAIN = 8  # how often points are drawn again because chance has left a state out
STATES = ("idle", "due", "pending", "faulting", "retrying", "ring-full", "threshold", "llwpcb-fault")
RESULTS = ("# counting:", "# misses:")
MOMENTS_EACH = 20  # the time of the undisturbed run is divided by that


@dataclass(frozen=True)
class Program:
    """The program in one of its machines."""

    name: str
    cpu: str
    append: str
    share: int  # of ten points
    apart: bool  # TCG and KVM do not take up what the other saved


PROGRAMS = (
    Program("auto", "+lwp", "migrate", 5, False),
    Program("os", "+lwp,lwp-context=os", "migrate context=os", 2, True),
    Program("2007", "+lwp,lwp-rev=2007", "migrate rev=2007", 2, False),
    # KVM samples them: it counts otherwise in each run.
    Program("dcache", "+lwp,lwp-dme=on,lwp-cache-l1d=4K/1/4,lwp-cache-l2=none,lwp-cache-l3=none", "migrate dcache=1",
            1, True),
)


def results(text: str) -> str:
    """What the program prints when it is over."""
    for mark in RESULTS:
        if mark in text:
            return text[text.index(mark):]
    return text


def _ends_as(text: str, wanted: str) -> bool:
    """Does a restored machine print what it should? Saved while it was printing, it prints what is left."""
    if any(mark in text for mark in RESULTS):
        return results(text) == wanted
    return 0 < len(text) < len(wanted) and wanted.endswith(text)


class Steps:
    """The steps of a machine, which is stopped."""

    def __init__(self, task: Task, vm: Vm):
        self.vm = vm
        self.counter = stepper.count(vm) if task.accel == "kvm" else None

    def now(self) -> int:
        """So many there were."""
        return int(self.vm.cpu("x-lwp-steps")) if self.counter is None else stepper.counted(self.counter)

    def run_to(self, step: int, dice: random.Random) -> bool:
        """False: the machine has ended."""
        if self.counter is None:
            self.vm.set_cpu("x-lwp-stop-at", step)
            self.vm.events.clear()
            self.vm.do("cont")
            self.vm.event("STOP")
            return True
        if not stepper.run(self.vm, stepper.EXIT, step - self.now()):
            return False
        # What becomes of a pending record is decided right after: it is stored, or faults.
        if dice.randrange(2) or "pending" not in self.vm.cpu("x-lwp-state"):
            return True
        return stepper.run(self.vm, stepper.BOUNDARY, 1)

    def close(self) -> None:
        """No more counting."""
        if self.counter is not None:
            os.close(self.counter)


def reference(task: Task, program: Program) -> tuple[str, int]:
    """What the program prints undisturbed, and how many steps it has."""
    with task.source(program.cpu, program.append, "-no-shutdown", "-S", name="reference") as vm:
        steps = Steps(task, vm)
        vm.do("cont")
        vm.event("SHUTDOWN")
        number = steps.now()
        steps.close()
    text = output(vm)
    assert "\n1.." in text and "not ok" not in text, f"the program itself fails:\n{text}"
    return text, number


def restored(task: Task, program: Program, save: Path, worker: int, wanted: str) -> bool:
    """Take a save up in a fresh process: are the results those that are wanted?"""
    vm = task.destination(program.cpu, program.append, name=f"restored{worker}")
    if vm.load(save):
        vm.go()
    status = ended(vm)
    same = status == PASSED and _ends_as(output(vm), wanted)
    if not same:
        task.note(f"# exit status {status}, {vm.said()}{results(output(vm))}")
    return same


@dataclass
class Work:
    """What a worker has found: of each point the step, the states, and whether it ended as the undisturbed run."""

    points: list[tuple[int, set[str], bool]]
    ends: bool = False  # so did its own machine


def _work(worker: int, task: Task, program: Program, chosen: list[int], wanted: str) -> Work:
    """Do some of the points, in one source."""
    vm, save = task.source(program.cpu, program.append, "-S", name=f"source{worker}"), task.work / f"save{worker}"
    dice, found, there = task.dice(program.name, len(chosen), worker), Work([]), True
    steps = Steps(task, vm)
    for step in chosen[worker::task.jobs]:
        if step <= steps.now():
            continue
        there = steps.run_to(step, dice)
        if not there:
            break
        states = {state for state in STATES if state in vm.cpu("x-lwp-state")}
        vm.save(save)
        found.points.append((step, states, restored(task, program, save, worker, wanted)))
    if there:
        vm.go()
    found.ends = ended(vm) == PASSED and results(output(vm)) == wanted
    steps.close()
    return found


def _program(task: Task, program: Program, count: int, fell: dict[str, int]) -> int:
    """All points of a program; adds to fell. Result: how many were tried."""
    text, steps = reference(task, program)
    assert steps >= count, f"the program has {steps} steps, too few"
    dice = task.dice(program.name, count, sum(fell.values()))
    # One point in each of so many parts of equal length.
    chosen = sorted(1 + at * steps // count + dice.randrange(steps // count) for at in range(count))
    found = task.side_by_side(_work, task, program, chosen, results(text))
    points = [point for work in found for point in work.points]
    for step, states, same in points:
        if not same:
            task.note(f"# differs when moved at step {step}")
        for state in states:
            fell[state] += 1
    same = sum(good for _, _, good in points)
    task.ok(points and same == len(points),
            f"{program.name}: {same} of {len(points)} points over {steps} steps end as the undisturbed run")
    task.ok(all(work.ends for work in found), f"{program.name}: a machine that was saved and continues ends so, too")
    return len(points)


def points(task: Task) -> None:
    """task.count points, in every state of the engine."""
    kvm, fell, tried, asked = task.accel == "kvm", dict.fromkeys(STATES, 0), 0, 0
    for program in PROGRAMS:
        count = task.count * program.share // 10
        if count and not (task.into and program.apart) and not (kvm and "lwp-dme=on" in program.cpu):
            asked += count
            tried += _program(task, program, count, fell)
    least = task.count // 100 * LEAST_OF_100_KVM if kvm else task.count * LEAST_OF_1000 // 1000
    for _ in range(DRAWS_AGAIN if task.count >= 5 else 0):
        if min(fell.values()) >= least:
            break
        asked += task.count // 5
        tried += _program(task, PROGRAMS[0], task.count // 5, fell)
    task.ok(tried >= asked * 9 // 10, f"{tried} points tried of {asked} asked for")
    if not least:
        task.note("# " + ", ".join(f"{number} in {state}" for state, number in fell.items()))
        return
    for state, number in fell.items():
        task.ok(number >= least, f"{number} points fell into '{state}', at least {least} should")


def misses(task: Task) -> None:
    """A machine whose data cache misses KVM samples goes where they are sampled, and nowhere else."""
    save, there = task.work / "save", "+lwp,lwp-dme=on"
    task.source(there, "bench", "-S").save(save)
    for cpu in (there, "+lwp"):
        vm = task.destination(cpu, "bench")
        loaded = vm.load(save)
        vm.kill()
        refused = "start both with lwp-dme=off" in vm.said()
        task.ok(loaded == (cpu == there) and loaded != refused, f"{there} to {cpu}")


def moments(task: Task) -> None:
    """The same where the clock happens to stop the program, for any accelerator: half of them with automatic contexts,
    half with those of the guest's system."""
    for program, count in zip(PROGRAMS, (task.count - task.count // 2, task.count // 2)):
        _moments(task, program, count)


def _moments(task: Task, program: Program, count: int) -> None:
    tried, same, machines, good, begin = 0, 0, 0, 0, time.monotonic()
    wanted = results(reference(task, program)[0])
    part, dice = (time.monotonic() - begin) / MOMENTS_EACH, task.dice(program.name)
    while tried < count and machines < count:
        machines += 1
        vm, save = task.source(program.cpu, program.append, "-S"), task.work / "save"
        vm.do("cont")
        try:
            while tried < count:
                time.sleep(part * 2 * dice.random())
                vm.do("stop")
                vm.save(save)
                tried += 1
                same += restored(task, program, save, 0, wanted)
                vm.do("cont")
        except (EOFError, Refused):
            pass  # a program that has ended takes QEMU with it, also after it has been stopped
        good += ended(vm) == PASSED and results(output(vm)) == wanted
    task.ok(same == tried == count, f"{program.name}: {same} of {tried} moments end as the undisturbed run")
    task.ok(good == machines, f"{program.name}: {good} of {machines} machines that were saved end so, too")
