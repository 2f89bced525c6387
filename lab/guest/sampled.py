# SPDX-License-Identifier: GPL-2.0-or-later
"""When count-1 has taken the samples of a profile: its clock is the number of executed instructions."""

import filecmp
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import DEVNULL

from lab.common.samples import Mapping, Sample
from lab.common.say import Died
from lab.guest import count1, frozen

TRACED = re.compile(r"^x86_cnt_sample \w+ after (\d+) ns$", re.MULTILINE)


@dataclass
class Recorded:
    """A profile, and the machine and the command that make it."""

    profile: Path
    one: count1.Count1
    command: Sequence[str]
    samples: Sequence[Sample]
    mappings: Sequence[Mapping]

    def clocks(self, run: Path) -> list[int]:
        """The clock after the instruction of each sample, from a run that makes the profile again while QEMU traces
        its samples."""
        (run / "share").mkdir(parents=True)
        traced = replace(self.one, watched=("-trace", "x86_cnt_sample", "-D", f"{run}/trace"))
        frozen.boot(traced, run, self.command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        if not any(filecmp.cmp(self.profile, made, shallow=False) for made in (run / "share").iterdir()):
            raise Died(f"{self.profile}: another profile is made here: give the program, input and options of then")
        return matched(self.samples, [int(ns) for ns in TRACED.findall((run / "trace").read_text(encoding="utf-8"))])


def matched(listed: Sequence[Sample], traced: Sequence[int]) -> list[int]:
    """The clock of each sample of a profile. Where not all that were traced are in it, time stamps tell which, if they
    are as exact as lwprun's."""
    if len(listed) == len(traced):
        return list(traced)
    known = set(traced)
    for first in traced:
        late = listed[0].time - first
        if all(one.time - late in known for one in listed):
            return [one.time - late for one in listed]
    raise Died(f"{len(listed)} of {len(traced)} samples are in the profile, and their times do not tell which")
