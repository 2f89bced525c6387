# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest that is profiled moves from host A to host B and back; each round of its workload leaves the same
numbers. Its init says on one serial port when a round begins and ends, and writes the profile to the other."""

import json
import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.building import kernel
from lab.common import places, proc
from lab.tests.conftest import good, run
from lab.tests.libvirt import domains
from lab.tests.libvirt.hosts import REDUCED
from lab.tests.libvirt.site import P2P, Site

pytestmark = pytest.mark.xdist_group("libvirt-move")

LENGTH = "2000000"  # of a round, in thousands of instructions
PATIENCE = 100  # seconds for what takes a few
POLL = 0.1  # seconds
ENDED = re.compile(r"^round (\d+) ended (\S+) (\d+)$", re.MULTILINE)  # round, status, size of the profile
# What must be the same in each round: numbers of events, and that nothing is lost.
KEYS = ("event", "samples", "counted", "counted_exactly", "symbol", "missed_events", "contexts_evicted")
NAME = "guest"

Offers = tuple[Path, Path]


def values(tree: Any, keys: Sequence[str]) -> list[tuple[str, Any]]:
    """What a JSON tree says of the keys, in its order."""
    if isinstance(tree, dict):
        pairs = [([(key, value)] if key in keys else []) + values(value, keys) for key, value in tree.items()]
    else:
        pairs = [values(item, keys) for item in tree] if isinstance(tree, list) else []
    return [found for more in pairs for found in more]


@pytest.fixture(scope="module")
def offers(site: Site) -> Offers:
    """What lwpctl caps says of A, with all of LWP, and of B, with less."""
    return site.offers("A"), site.offers("B", REDUCED)


@pytest.fixture(scope="module")
def baseline(offers: Offers) -> str:
    """The CPU that lwpctl makes of what both offer."""
    return good([places.LWPCTL, "baseline", "--format=libvirt", "--model=qemu64", *offers])


@dataclass
class Guest:
    """Its files."""

    work: Path

    def __post_init__(self) -> None:
        self.root, self.xml = self.work / "root", self.work / "guest.xml"
        self.lines, self.data = self.work / "lines", self.work / "data"  # what comes out of the two serial ports

    def make(self, cpu: str) -> None:
        """The init, lwprun and what they need, where lwpctl report reads symbols; and its XML."""
        programs = [places.LWPRUN, places.HOST / "guest-tools/liblwprun.so", places.LINUX_PROGRAMS / "workload"]
        libraries = re.findall(r"^\t(?:.* => )?(/\S+) \(", proc.output(["ldd", *programs]), re.MULTILINE)
        places_in = {Path(library): self.root / library.lstrip("/") for library in libraries}
        places_in.update({program: self.root / program.name for program in programs})
        for file, place in {**places_in, places.HOST / "guest-tests/migrate/moving": self.root / "init"}.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        with (self.work / "pack").open("w", encoding="utf-8") as log:
            kernel.pack(self.root, self.work / "initrd", log)
        length = int(os.environ.get("VLWP_LIBVIRT_LENGTH") or LENGTH)
        xml = domains.guest(cpu, self.work / "initrd", (self.lines, self.data), length)
        self.xml.write_text(xml, encoding="utf-8")

    def heard(self) -> str:
        """What it has said."""
        if not self.lines.exists():
            return ""
        return self.lines.read_text(encoding="utf-8", errors="replace").replace("\r", "")

    def wait_for(self, number: int, word: str) -> None:
        """A round begins, or has ended."""
        end = time.monotonic() + PATIENCE
        while not re.search(rf"^round {number} {word}.*\n", self.heard(), re.MULTILINE):
            assert time.monotonic() < end, f"the guest does not say 'round {number} {word}' in {PATIENCE} s"
            time.sleep(POLL)

    def truth(self, number: int) -> list[tuple[str, Any]]:
        """What lwpctl report says of a round's profile."""
        self.wait_for(number, "ended")
        rounds = ENDED.findall(self.heard())[:number]
        assert all(int(status, 16) == 0 for _, status, _ in rounds), "lwprun has failed"
        end = sum(int(size) for *_, size in rounds)
        profile = self.work / f"data.{number}"
        profile.write_bytes(self.data.read_bytes()[end - int(rounds[-1][2]):end])
        return values(json.loads(good([places.LWPCTL, "report", "--json", f"--sysroot={self.root}", profile])), KEYS)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory, baseline: str) -> Guest:
    """The guest with the baseline, not started."""
    it = Guest(tmp_path_factory.mktemp("guest"))
    it.make(baseline)
    return it


def test_move_offers(offers: Offers) -> None:
    """Host A says of nothing why it is not there; the hosts' classes have the events of their defaults in EBX."""
    said = [json.loads(path.read_text(encoding="utf-8")) for path in offers]
    assert [one["class"].split("-")[4] for one in said] == ["80062016", "80032013"]
    assert "reason" not in said[0], "something is not offered"


def test_move_baseline(baseline: str, guest: Guest, offers: Offers) -> None:
    """The baseline of both is what B offers; a domain with it fits both hosts, without a warning."""
    for setting in REDUCED.lwp:
        assert setting in baseline
    ended = run([places.LWPCTL, "check", guest.xml, *offers])
    assert ended.said == "yes: 2 hosts (A, B): guest has the same LWP\n"


def moves(site: Site, guest: Guest, source: str, target: str, number: int) -> None:
    """It moves live, at the beginning of a round and not later than its end."""
    one, other = site.hosts[source], site.hosts[target]
    guest.wait_for(number, "begins")
    one.do("migrate", "--live", *P2P, NAME, other.uri, "--migrateuri", f"unix://{site.work}/move")
    ended = {int(row[0]) for row in ENDED.findall(guest.heard())}
    assert number not in ended, "the round was over before the guest had moved: longer ones with VLWP_LIBVIRT_LENGTH"
    assert other.state_of(NAME) == "running", f"it does not run on {target}"
    assert not one.state_of(NAME), f"it is still on {source}"


def test_move_profiled_guest(site: Site, guest: Guest, offers: Offers) -> None:
    """A guest that is profiled moves to B and back, each time in the middle of a round, of which nothing is lost and
    nothing counted twice. libvirt forgets it when it ends."""
    a, b = site.host("A"), site.host("B", REDUCED)
    a.do("define", guest.xml)
    a.do("start", NAME)
    a.do("undefine", NAME)
    try:
        undisturbed = guest.truth(1)
        assert undisturbed.count(("counted_exactly", True)) == 2, "not two events were counted exactly"
        assert ("missed_events", 0) in undisturbed, "events were missed"
        assert any(key == "symbol" and str(value).startswith("hot_") for key, value in undisturbed)
        for source, target, number in (("A", "B", 2), ("B", "A", 4)):
            moves(site, guest, source, target, number)
            assert guest.truth(number) == undisturbed
        (guest.work / "live.xml").write_text(a.do("dumpxml", NAME), encoding="utf-8")
        good([places.LWPCTL, "check", guest.work / "live.xml", *offers])
    finally:
        for host in (a, b):
            host.virsh("destroy", NAME)
