# SPDX-License-Identifier: GPL-2.0-or-later
"""The small domain: it is started with an LWP, it is to move, and it moves or stays. One that runs with the wanted
LWP already is used again."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from lab.common.report import Check
from lab.libvirt import domains
from lab.libvirt.hosts import Host

NAME = "small"


class Small:
    """The domain, which runs on one host or on none."""

    def __init__(self, work: Path):
        self.work = work
        self._runs: tuple[str, ...] = ()  # host, its emulator, the domain's properties

    def write(self, text: str) -> Path:
        """A file of XML for virsh."""
        path = self.work / "small.xml"
        path.write_text(text, encoding="utf-8")
        return path

    def destroy(self, check: Check, hosts: Iterable[Host]) -> None:
        """It runs nowhere."""
        self._runs = ()
        for host in hosts:
            if host.started and host.state_of(check, NAME):
                host.do(check, "destroy", NAME)

    def up(self, check: Check, host: Host, hosts: Iterable[Host], properties: Sequence[str] = ()) -> None:
        """It runs on a host with these properties of its CPU."""
        wanted = (host.name, *host.state.emulator(), "--", *properties)
        if wanted == self._runs and host.state_of(check, NAME) == "running":
            return
        self.destroy(check, hosts)
        host.do(check, "create", self.write(domains.text_of(domains.small(domains.settings(properties)))))
        self._runs = wanted

    def move(self, check: Check, source: Host, target: Host, options: Sequence[str]) -> tuple[int, str]:
        """Try to migrate it. Result: as check.text()."""
        words = ("--live", *options, NAME, target.uri, "--migrateuri", f"unix://{self.work}/move")
        return source.virsh(check, "migrate", *words, stderr=True)

    def stays(
        self, check: Check, source: Host, target: Host, text: str, *, options: Sequence[str] = ("--p2p",),
        or_else: str = ""
    ) -> None:
        """It does not get to the target and still runs at the source; the target's QEMU or virsh says the text (else
        or_else). Options are those of virsh migrate; --p2p: the source's libvirt does it, not virsh."""
        runs, self._runs = self._runs, ()
        status, said = self.move(check, source, target, options)
        check.want(status, "it has moved")
        check.want(source.state_of(check, NAME) == "running", "it does not run any more where it was")
        check.want(not target.state_of(check, NAME), "it is where it must not be")
        check.want(text in said or (or_else and or_else in said), f"virsh does not say '{text}'")
        self._runs = runs

    def goes(self, check: Check, source: Host, target: Host) -> None:
        """It moves to the target and comes back."""
        runs, self._runs = self._runs, ()
        for one, other, options in ((source, target, ("--p2p",)), (target, source, ())):
            status, _ = self.move(check, one, other, options)
            check.want(status == 0, f"it does not move from {one.name} to {other.name}")
        self._runs = runs

    def has(self, check: Check, host: Host, name: str, value: object) -> None:
        """A property of its CPU has this value, as QEMU says."""
        asked = {"path": "/machine/unattached/device[0]", "property": name}
        command = json.dumps({"execute": "qom-get", "arguments": asked})
        answer = json.loads(host.do(check, "qemu-monitor-command", NAME, command))
        check.want(answer.get("return") == value, f"{name} is not {value}")

    def create(self, check: Check, host: Host, domain: Element) -> tuple[int, str]:
        """Try to start it from other XML. Result: as check.text()."""
        return host.virsh(check, "create", self.write(domains.text_of(domain)), stderr=True)
