# SPDX-License-Identifier: GPL-2.0-or-later
"""What the cases work with: hosts A and B, hosts C and D whose CPU map knows LWP, hosts E, F and G with the patched
libvirt, the small domain, and lwpctl. A host is started when the first case uses it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.building import libvirt
from lab.common import proc
from lab.common.places import LWPCTL
from lab.common.report import Check, Report
from lab.libvirt.hosts import EMULATOR, Host, State
from lab.libvirt.small import Small

# What host B offers where it offers less than A.
REDUCED = State(lwp=("lwp-max-events=3", "lwp-ptsc=off", "lwp-min-buffer=4"))


class Site:
    """All hosts of a test."""

    def __init__(self, work: Path, length: int, root: Path | None = None):
        """root: the Debian system whose libvirt the hosts have, if that is not the machine's."""
        self.work = work
        self.length = length  # of a round of the guest that is profiled, in thousands of instructions
        self.small = Small(work)
        self.hosts = {
            name: Host(work, name, number, cpu_map=name in "CD", root=root) for number, name in enumerate("ABCD", 1)
        }

    def add_patched(self, series: str) -> None:
        """Hosts E, F and G with the patched libvirt; F's is the modular daemon, and G offers less."""
        found = next(one for one in libvirt.known() if one.series == series)
        for number, name in enumerate("EFG", 5):
            daemon = found.modular if name == "F" else found.daemon
            first = REDUCED if name == "G" else State()
            self.hosts[name] = Host(self.work, name, number, first=first, daemon=(found.run, daemon))

    def host(self, check: Check, name: str, state: State = State()) -> Host:
        """A host that runs and is like this."""
        host = self.hosts[name]
        host.up(check)
        host.set(state)
        return host

    def up(self, check: Check, host: Host, properties: Sequence[str] = ()) -> None:
        """The small domain runs on a host, and nowhere else."""
        self.small.up(check, host, self.hosts.values(), properties)

    def destroy(self, check: Check) -> None:
        """The small domain runs nowhere."""
        self.small.destroy(check, self.hosts.values())

    def capabilities(self, check: Check, name: str, state: State = State()) -> Path:
        """What lwpctl caps says of a host that is like this, in a file."""
        path = self.work / f"{name}.json"
        host = self.host(check, name, state)
        argv: list[proc.Word] = [LWPCTL, "caps", f"--connect={host.uri}", f"--emulator={EMULATOR}", "--json"]
        status, text = check.text(argv)
        check.want(status == 0, f"lwpctl caps ends with status {status}")
        path.write_text(text, encoding="utf-8")
        return path


def values(tree: Any, keys: Sequence[str]) -> list[tuple[str, Any]]:
    """What a JSON tree says of the keys, in its order."""
    found: list[tuple[str, Any]] = []
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key in keys:
                found.append((key, value))
            found += values(value, keys)
    elif isinstance(tree, list):
        for item in tree:
            found += values(item, keys)
    return found


def values_in(path: Path, key: str) -> list[Any]:
    """What a JSON file says of a key."""
    return [value for _, value in values(json.loads(path.read_text(encoding="utf-8")), (key,))]


@dataclass(frozen=True)
class Row:
    """A case: its name and one line; what it does with a site."""

    name: str
    line: str
    run: Callable[[Report, Site], object]


def one(name: str, sentence: str, function: Callable[..., object], *args: Any) -> Row:
    """A case of one check: function(Check, Site, *args)."""
    return Row(name, sentence, lambda report, site: report.check(sentence, function, site, *args))
