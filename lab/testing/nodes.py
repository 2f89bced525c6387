# SPDX-License-Identifier: GPL-2.0-or-later
"""Two machines in name spaces: each has a name, a Debian system whose changes are its own, and one end of a network
that is nowhere else. Their process 1 waits for us, and takes everything of them along when it ends."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.common import proc
from lab.common.check import good
from lab.common.say import Skip
from lab.testing import fresh_root

SHARED = "/shared"  # the folder that both have
EMULATOR = "/usr/lib/vlwp/bin/qemu-system-x86_64"
UNSHARE = ("unshare", "--net", "--mount")
ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8")


@dataclass(frozen=True)
class Node:
    """One of them."""

    name: str
    child: "subprocess.Popen[Any]"
    pid: str  # of its process 1, as we see it

    def argv(self, *words: proc.Word) -> list[str]:
        """The command line that does something there."""
        return proc.words(["nsenter", "--all", "--target", self.pid, *ENVIRONMENT, *words])

    def do(self, *words: proc.Word) -> str:
        """The output of a command there that must succeed."""
        return good(self.argv(*words))

    def sh(self, commands: str, env: Sequence[str] = ()) -> None:
        """Commands of a shell there, of which each must succeed."""
        self.do("env", *env, "sh", "-euxc", commands)

    def path(self, name: str) -> Path:
        """One of its files."""
        return Path(f"/proc/{self.pid}/root{name}")

    def write(self, name: str, text: str) -> None:
        """A file of it has this text from now on."""
        self.path(name).parent.mkdir(exist_ok=True)
        self.path(name).write_text(text, encoding="ascii")


def require(what: str) -> None:
    """This machine can make them."""
    fresh_root.require(what)
    if proc.call([*UNSHARE, "true"], stderr=subprocess.DEVNULL):
        raise Skip(f"{what} needs the right to make name spaces")


def _start(root: Path, work: Path, shared: Path, name: str, begin: str) -> Node:
    place = work / name
    for folder in ("root", "upper", "work"):
        (place / folder).mkdir(parents=True)
    layers = f"lowerdir={root},upperdir={place}/upper,workdir={place}/work"
    mounts = f"mount -t overlay -o {layers} overlay {place}/root; mount --bind {shared} {place}/root{SHARED}"
    inside = fresh_root.enter(place / "root", f"hostname {name}; ip link set lo up; {begin}; echo up; cat >/dev/null")
    argv = [*UNSHARE, "sh", "-euc", f'{mounts}; exec "$@"', "sh", *inside]
    child = proc.start(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout and child.stdout.readline() == "up\n", f"node {name} does not start"
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    return Node(name, child, children.read_text(encoding="ascii").strip())


@contextmanager
def two(root: Path, work: Path, shared: Path, addresses: dict[str, str], begin: str) -> Iterator[list[Node]]:
    """Two nodes, by their names, with these addresses; a script begins each. root: the system that both have; a folder
    of ours is SHARED there."""
    (root / SHARED.lstrip("/")).mkdir(exist_ok=True)
    nodes: list[Node] = []
    try:
        for name in addresses:
            nodes.append(_start(root, work, shared, name, begin))
        one, other = nodes
        ends = [["name", "eth0", "netns", node.pid] for node in (one, other)]
        good(["ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1]])
        for node in nodes:
            node.do("ip", "address", "add", addresses[node.name], "dev", "eth0")
            node.do("ip", "link", "set", "eth0", "up")
        yield nodes
    finally:
        for node in nodes:
            node.child.communicate()
            proc.wait(node.child)
