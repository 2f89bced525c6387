# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of all managers need: the package's QEMU and lwpctl in the system of both nodes, the commands of
docs/fleet.md, and a guest that is profiled."""

import re
import shutil
from pathlib import Path

from lab.building import deps, kernel, qemu, tools
from lab.common import places
from lab.common.say import Skip
from lab.start.packaged import PLACE
from lab.testing import fresh_root, nodes
from lab.testing.nodes import EMULATOR
from lab.tests.conftest import good
from lab.tests.moving import Guest

COMMAND = re.compile(r"^ {4,7}((?:cd|gnt|install|lwpctl|openstack)\b.*)$", re.MULTILINE)


def told(section: str, first: str = "", **names: str) -> str:
    """The commands of a section of docs/fleet.md, or those that begin so, with these words in place of its names."""
    page = (places.TOP / "docs/fleet.md").read_text(encoding="utf-8")
    text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    commands = "\n".join(line for line in COMMAND.findall(text) if line.startswith(first))
    assert commands, f"docs/fleet.md, {section}: no command {first}"
    for name, word in names.items():
        commands = re.sub(rf"\b{name}\b", word, commands)
    return commands


def build() -> None:
    """All that is built here."""
    nodes.require("soak managers")
    if lacks := " ".join(deps.lacking(qemu.DEPENDS)):
        raise Skip(f"soak managers needs {lacks}, to build the package's QEMU: apt-get install {lacks}")
    tools.build()
    kernel.build()
    qemu.build("package")


def install(root: Path, addresses: dict[str, str]) -> None:
    """What the nodes' system has besides packages: the package's QEMU, lwpctl, and the names of all hosts."""
    shutil.rmtree(root / PLACE, ignore_errors=True)  # a root that is kept has another
    good([places.PYTHON, "-B", "-m", "lab.start.packaged", "install-qemu", root], cwd=places.TOP)
    fresh_root.add_libraries(root, root / EMULATOR.lstrip("/"), places.LWPCTL)
    shutil.copy(places.LWPCTL, root / "usr/bin")
    hosts = {"localhost": "127.0.0.1", **addresses}
    (root / "etc/hosts").write_text("".join(f"{at} {name}\n" for name, at in hosts.items()), encoding="ascii")


def guest(work: Path, length: int) -> Guest:
    """The guest, whose folder is the nodes' SHARED: kernel and initrd."""
    work.mkdir()
    made = Guest(work, length)
    made.make()
    shutil.copy(places.GUEST / "vmlinux", work)
    return made
