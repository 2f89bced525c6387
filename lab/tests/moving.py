# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest that is profiled while it moves between hosts; each round of its workload leaves the same numbers. Its
init says on the serial port when a round begins and ends, and between them the profile."""

import json
import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.building import kernel
from lab.common import places, proc
from lab.tests.conftest import good

CMDLINE = "console=ttyS0 loglevel=3 panic=-1 no_timer_check tsc=reliable nowatchdog mitigations=off norandmaps"
LENGTH = 2_000_000  # of a round, in thousands of instructions
PATIENCE = 100  # seconds for what takes a few, as such a round does
POLL = 0.1  # seconds
DATA = re.compile(r"^data ([0-9a-f]+)\n", re.MULTILINE)  # of the profile
ENDED = re.compile(r"^round (\d+) ended (\S+) (\d+)$", re.MULTILINE)  # round, status, size of the profile
# What must be the same in each round: numbers of events, and that nothing is lost.
KEYS = ("event", "samples", "counted", "counted_exactly", "symbol", "missed_events", "contexts_evicted")

Truth = list[tuple[str, Any]]


def values(tree: Any, keys: Sequence[str]) -> Truth:
    """What a JSON tree says of the keys, in its order."""
    if isinstance(tree, dict):
        pairs = [([(key, value)] if key in keys else []) + values(value, keys) for key, value in tree.items()]
    else:
        pairs = [values(item, keys) for item in tree] if isinstance(tree, list) else []
    return [found for more in pairs for found in more]


@dataclass
class Guest:
    """Its files, and the length of its rounds."""

    work: Path
    length: int = LENGTH

    def __post_init__(self) -> None:
        self.length = int(os.environ.get("VLWP_LIBVIRT_LENGTH") or self.length)
        self.root, self.initrd = self.work / "root", self.work / "initrd"
        self.lines = self.work / "lines"  # what comes out of the serial port

    def make(self) -> None:
        """The init, lwprun and what they need, where lwpctl report reads symbols."""
        programs = [places.LWPRUN, places.HOST / "guest-tools/liblwprun.so", places.LINUX_PROGRAMS / "workload"]
        libraries = re.findall(r"^\t(?:.* => )?(/\S+) \(", proc.output(["ldd", *programs]), re.MULTILINE)
        places_in = {Path(library): self.root / library.lstrip("/") for library in libraries}
        places_in.update({program: self.root / program.name for program in programs})
        for file, place in {**places_in, places.HOST / "guest-tests/migrate/moving": self.root / "init"}.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        with (self.work / "pack").open("w", encoding="utf-8") as log:
            kernel.pack(self.root, self.initrd, log)

    @property
    def cmdline(self) -> str:
        """The kernel's command line."""
        return f"{CMDLINE} -- {self.length}"

    def heard(self) -> str:
        """What it has said."""
        if not self.lines.exists():
            return ""
        return self.lines.read_text(encoding="utf-8", errors="replace").replace("\r", "")

    def wait_for(self, number: int, word: str) -> None:
        """A round begins, or has ended."""
        limit = PATIENCE * max(self.length // LENGTH, 1)
        end = time.monotonic() + limit
        while not re.search(rf"^round {number} {word}.*\n", self.heard(), re.MULTILINE):
            assert time.monotonic() < end, f"the guest does not say 'round {number} {word}' in {limit} s"
            time.sleep(POLL)

    def is_in(self, number: int) -> None:
        """It has moved not later than at the end of a round."""
        ended = {int(row[0]) for row in ENDED.findall(self.heard())}
        assert number not in ended, "the round was over before the guest had moved: longer with VLWP_LIBVIRT_LENGTH"

    def truth(self, number: int) -> Truth:
        """What lwpctl report says of a round's profile."""
        self.wait_for(number, "ended")
        heard = self.heard()
        rounds = ENDED.findall(heard)[:number]
        assert all(int(status, 16) == 0 for _, status, _ in rounds), "lwprun has failed"
        end = sum(int(size) for *_, size in rounds)
        profile = self.work / f"data.{number}"
        profile.write_bytes(bytes.fromhex("".join(DATA.findall(heard)))[end - int(rounds[-1][2]):end])
        return values(json.loads(good([places.LWPCTL, "report", "--json", f"--sysroot={self.root}", profile])), KEYS)

    def undisturbed(self) -> Truth:
        """What it says of the first round, in which the guest does not move."""
        found = self.truth(1)
        assert found.count(("counted_exactly", True)) == 2, "not two events were counted exactly"
        assert ("missed_events", 0) in found, "events were missed"
        assert any(key == "symbol" and str(value).startswith("hot_") for key, value in found)
        return found
