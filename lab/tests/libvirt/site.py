# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests work with: hosts A and B, hosts E, F and G with the patched libvirt, and the small domain, which runs
on one of them or on none. A host is started when the first test uses it."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from lab.building.libvirt import Libvirt
from lab.common.places import LWPCTL
from lab.tests.conftest import Ended, good
from lab.tests.libvirt import domains
from lab.tests.libvirt.hosts import ALL, SMALL, Host, State

P2P = ("--p2p",)  # the source's libvirt migrates, not virsh


class Site:
    """All hosts, and the small domain."""

    def __init__(self, work: Path, root: Path | None, patched: Libvirt | None):
        """root: the Debian system whose libvirt the hosts have, if that is not the machine's."""
        self.work = work
        self.hosts = {name: Host(work, name, number, root=root) for number, name in enumerate("AB", 1)}
        for number, name in enumerate("EFG" if patched else "", 5):
            assert patched
            daemon = patched.modular if name == "F" else patched.daemon
            self.hosts[name] = Host(work, name, number, daemon=(patched.run, daemon))
        self._runs: tuple[object, ...] = ()  # of the small domain: host, its state, properties

    def host(self, name: str, state: State = ALL) -> Host:
        """A host that runs and is like this."""
        host = self.hosts[name]
        host.up()
        host.set(state)
        return host

    def offers(self, name: str, state: State = ALL) -> Path:
        """What lwpctl caps says of a host that is like this, in a file."""
        path, program = self.work / f"{name}.json", self.host(name, state).program
        said = json.loads(good([LWPCTL, "caps", f"--qemu={program}", "--json"]))
        path.write_text(json.dumps({**said, "host": name}), encoding="utf-8")
        return path

    def both(self, one: Host, other: Host) -> Path:
        """What the libvirts of two hosts say of their QEMUs, in a file."""
        path = self.work / "both.xml"
        path.write_text(one.capabilities() + other.capabilities(), encoding="utf-8")
        return path

    def write(self, domain: Element) -> Path:
        """A file of XML for virsh."""
        path = self.work / "small.xml"
        path.write_text(domains.text_of(domain), encoding="utf-8")
        return path

    def create(self, host: Host, domain: Element) -> Ended:
        """The small domain ends where it runs; then try to start it from this XML."""
        self._runs = ()
        for one in self.hosts.values():
            if one.started and one.state_of():
                one.do("destroy", SMALL)
        host.qemu_log.unlink(missing_ok=True)
        return host.virsh("create", self.write(domain))

    def start(self, host: Host, domain: Element) -> Host:
        """It runs, from this XML."""
        assert self.create(host, domain).status == 0, "it does not start"
        return host

    def up(self, host: Host, properties: Sequence[str] = ()) -> Host:
        """It runs on a host with these properties of its CPU. One that does so already is used again."""
        wanted = (host.name, host.state, *properties)
        if wanted != self._runs or host.state_of() != "running":
            self.start(host, domains.small(domains.settings(properties)))
            self._runs = wanted
        return host

    def move(self, source: Host, target: Host, options: Sequence[str] = P2P) -> Ended:
        """Try to migrate it. Options are those of virsh migrate."""
        self._runs = ()
        target.qemu_log.unlink(missing_ok=True)
        words = ("--live", *options, SMALL, target.uri, "--migrateuri", f"unix://{self.work}/move")
        return source.virsh("migrate", *words)

    def stays(
        self, source: Host, target: Host, text: str, options: Sequence[str] = P2P, or_else: Sequence[str] = ()
    ) -> None:
        """It does not get to the target and still runs at the source; virsh says the text, or one of or_else."""
        runs, moved = self._runs, self.move(source, target, options)
        assert moved.status, "it has moved"
        assert source.state_of() == "running", "it does not run any more where it was"
        assert not target.state_of(), "it is where it must not be"
        assert any(one in moved.said for one in (text, *or_else)), f"virsh does not say '{text}'"
        self._runs = runs

    def goes(self, source: Host, target: Host) -> None:
        """It moves to the target and comes back."""
        runs = self._runs
        for one, other, options in ((source, target, P2P), (target, source, ())):
            assert self.move(one, other, options).status == 0, f"it does not move from {one.name} to {other.name}"
        self._runs = runs

    def has(self, host: Host, name: str, value: object) -> None:
        """A property of its CPU has this value, as QEMU says."""
        asked = {"path": "/machine/unattached/device[0]", "property": name}
        command = json.dumps({"execute": "qom-get", "arguments": asked})
        answer = json.loads(host.do("qemu-monitor-command", SMALL, command))
        assert answer.get("return") == value, f"{name} is not {value}"
