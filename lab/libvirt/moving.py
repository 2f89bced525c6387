# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest that is profiled moves from host A to host B and back; each round of its workload leaves the same
numbers. Its init says on one serial port when a round begins and ends, and writes the profile to the other."""

import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

from lab.building import kernel
from lab.common import places, proc
from lab.common.report import Check, Report
from lab.libvirt import domains
from lab.libvirt.hosts import EMULATOR, Host, State
from lab.libvirt.site import REDUCED, Row, Site, values, values_in

PATIENCE = 100  # seconds for what takes a few
POLL = 0.1  # seconds
ENDED = re.compile(r"^round (\d+) ended (\S+) (\d+)$", re.MULTILINE)  # round, status, size of the profile
# What must be the same in each round: numbers of events, and that nothing is lost.
KEYS = ("event", "samples", "counted", "counted_exactly", "symbol", "missed_events", "contexts_evicted")
NAME = "guest"

Truth = list[tuple[str, Any]]


def make_root(root: Path) -> None:
    """The init, lwprun and what they need; lwpctl report reads symbols there."""
    root.mkdir()
    shutil.copy(places.LINUX_PROGRAMS / "moving", root / "init")
    programs = [places.LWPRUN, places.HOST / "guest-tools/liblwprun.so", places.LINUX_PROGRAMS / "workload"]
    for program in programs:
        shutil.copy(program, root)
    libraries = proc.output(["ldd", *programs])
    for library in sorted(set(re.findall(r"^\t(?:.* => )?(/\S+) \(", libraries, re.MULTILINE))):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)


class Journey:
    """The guest, its files, and what its first round said."""

    def __init__(self, site: Site):
        self.site = site
        work = site.work
        self.root, self.initrd, self.xml = work / "root", work / "initrd", work / "guest.xml"
        self.lines, self.data = work / "lines", work / "data"  # what comes out of the two serial ports
        self.offers = (work / "A.json", work / "B.json")
        self.undisturbed: Truth = []

    def host(self, check: Check, name: str) -> Host:
        """A with all of LWP, or B with less."""
        return self.site.host(check, name, REDUCED if name == "B" else State())

    def offers_events(self, check: Check, name: str, count: int) -> None:
        """A host offers this number of events."""
        path = self.site.capabilities(check, name, REDUCED if name == "B" else State())
        check.want(count in values_in(path, "max_events"), f"max_events is not {count}")

    def all_offered(self, check: Check) -> None:
        """A offers six events and says of nothing why it is not there."""
        self.offers_events(check, "A", 6)
        check.want("reason" not in self.offers[0].read_text(encoding="utf-8"), "something is not offered")

    def baseline(self, check: Check) -> None:
        """lwpctl baseline makes a CPU of what both offer; the guest gets it."""
        uri = self.host(check, "A").uri
        options = ["--format=libvirt", f"--connect={uri}", f"--emulator={EMULATOR}"]
        status, fragment = check.text([places.LWPCTL, "baseline", *options, *self.offers])
        check.want(status == 0, f"lwpctl baseline ends with status {status}")
        for setting in REDUCED.lwp:
            check.want(setting in fragment, f"{setting} is not in it")
        make_root(self.root)
        kernel.pack(self.root, self.initrd, check.log)
        xml = domains.guest(fragment, self.initrd, (self.lines, self.data), self.site.length)
        self.xml.write_text(xml, encoding="utf-8")

    def fits(self, check: Check) -> None:
        """lwpctl check says yes, and nothing else."""
        _, said = check.text([places.LWPCTL, "check", self.xml, *self.offers], stderr=True)
        wanted = "yes: guest has the same LWP on A, B"
        check.want(said.rstrip("\n") == wanted, f"lwpctl check does not say '{wanted}'")

    def starts(self, check: Check) -> None:
        """It is started as a domain that libvirt forgets when it ends."""
        a = self.host(check, "A")
        a.do(check, "define", self.xml)
        a.do(check, "start", NAME)
        a.do(check, "undefine", NAME)

    def heard(self) -> str:
        """What the guest has said."""
        if not self.lines.exists():
            return ""
        return self.lines.read_text(encoding="utf-8", errors="replace").replace("\r", "")

    def wait_for(self, check: Check, number: int, word: str) -> None:
        """A round begins, or has ended."""
        wanted = re.compile(rf"^round {number} {word}.*\n", re.MULTILINE)
        end = time.monotonic() + PATIENCE
        while not wanted.search(self.heard()):
            check.want(time.monotonic() < end, f"the guest does not say 'round {number} {word}' in {PATIENCE} s")
            time.sleep(POLL)

    def truth(self, check: Check, number: int) -> Truth:
        """What lwpctl report says of a round's profile."""
        self.wait_for(check, number, "ended")
        begin = size = 0
        for found, status, length in ENDED.findall(self.heard()):
            check.want(int(status, 16) == 0, f"lwprun ended with status {status} in round {found}")
            begin, size = begin + size, int(length)
            if int(found) == number:
                break
        profile = self.site.work / f"data.{number}"
        profile.write_bytes(self.data.read_bytes()[begin:begin + size])
        status, text = check.text([places.LWPCTL, "report", "--json", f"--sysroot={self.root}", profile])
        check.want(status == 0, f"lwpctl report ends with status {status}")
        return values(json.loads(text), KEYS)

    def counts(self, check: Check) -> None:
        """Events of the first round were counted to the end and none was missed."""
        truth = self.undisturbed = self.truth(check, 1)
        check.want(truth.count(("counted_exactly", True)) == 2, "not two events were counted exactly")
        check.want(("missed_events", 0) in truth, "events were missed")
        hot = [value for key, value in truth if key == "symbol" and str(value).startswith("hot_")]
        check.want(hot, "no sample is in a function hot_*")

    def moves(self, check: Check, source: str, target: str, number: int) -> None:
        """It moves live, at the beginning of a round and not later than its end."""
        one, other = self.host(check, source), self.host(check, target)
        self.wait_for(check, number, "begins")
        words = ("--live", "--p2p", NAME, other.uri, "--migrateuri", f"unix://{self.site.work}/move")
        one.do(check, "migrate", *words)
        ended = {int(row[0]) for row in ENDED.findall(self.heard())}
        too_short = "the round was over before the guest had moved: make it longer (VLWP_LIBVIRT_LENGTH)"
        check.want(number not in ended, too_short)
        check.want(other.state_of(check, NAME) == "running", f"it does not run on {target}")
        check.want(not one.state_of(check, NAME), f"it is still on {source}")

    def same_truth(self, check: Check, number: int) -> None:
        """A round says what the first one said, which was not disturbed."""
        truth = self.truth(check, number)
        for wanted, found in zip(self.undisturbed, truth):
            check.want(wanted == found, f"round 1 says {wanted}, round {number} {found}")
        check.want(len(truth) == len(self.undisturbed), f"round {number} says more or less than round 1")

    def running_fits(self, check: Check) -> None:
        """The domain that runs on A has what both offer."""
        check.run([places.LWPCTL, "check", f"{self.host(check, 'A').uri}#{NAME}", *self.offers])


def travel(report: Report, site: Site) -> None:
    """All checks; without the guest there is nothing to wait for."""
    journey = Journey(site)
    before = report.failed
    report.check("libvirt: host A offers six events", journey.all_offered)
    report.check("libvirt: host B offers three", journey.offers_events, "B", 3)
    report.check("libvirt: the baseline of both is what B offers", journey.baseline)
    report.check("libvirt: a domain with the baseline fits both hosts, without a warning", journey.fits)
    report.check("libvirt: it is defined and started on A", journey.starts)
    report.check("libvirt: lwprun counts a round on A", journey.counts)
    if report.failed == before:
        report.check("libvirt: it moves to B in the middle of a round", journey.moves, "A", "B", 2)
        report.check("libvirt: nothing of that round is lost, none is counted twice", journey.same_truth, 2)
        report.check("libvirt: it moves back to A in the middle of a round", journey.moves, "B", "A", 4)
        report.check("libvirt: nothing of that round is lost, either", journey.same_truth, 4)
        report.check("libvirt: the running domain on A fits both hosts", journey.running_fits)
    with (site.work / "end").open("w", encoding="utf-8") as log:
        for host in site.hosts.values():
            if host.started:
                proc.logged(["virsh", "-q", "-c", host.uri, "destroy", NAME], log)


ROWS: tuple[Row, ...] = (Row("move/profiled-guest", "a guest that is profiled moves to B and back", travel),)
