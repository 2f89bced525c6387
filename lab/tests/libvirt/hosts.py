# SPDX-License-Identifier: GPL-2.0-or-later
"""A host: a libvirtd with directories, a UUID, a name and an /etc/libvirt of its own, and the QEMU that it has. No
root is needed: it is the libvirt of a user (qemu:///session) in name spaces that end with the test."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.common import places, proc
from lab.tests.conftest import Ended, run
from lab.tests.libvirt.spaces import UNSHARE

SMALL = "small"  # the domain without a system
POLL = 0.02  # seconds
HERE = Path(__file__).parent
EMULATOR = Path("/etc/libvirt/bin/qemu-system-x86_64")  # each host has another program there

LIBVIRTD_CONF = """host_uuid = "11111111-aaaa-4aaa-8aaa-00000000000{number}"
auth_unix_ro = "none"
auth_unix_rw = "none"
log_level = 3
log_outputs = "3:file:{log}"
"""
QEMU_CONF = """security_driver = "none"
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
"""


@dataclass(frozen=True)
class State:
    """What a host has to do with LWP; each test says it of the hosts that it uses."""

    lwp: tuple[str, ...] = ()  # NAME=VALUE: what it can do less than others
    file: tuple[str, ...] = ()  # the lines of its /etc/vlwp/host.conf; none: it has no such file
    patched: bool = True  # False: QEMU of the same version without LWP

    def emulator(self) -> str:
        """The program, as a script."""
        program = places.qemu() if self.patched else places.qemu_base()
        words = [str(program), "-L", str(places.FIRMWARE)]
        words += [word for setting in self.lwp for word in ("-global", f"x86_64-cpu.{setting}")]
        return f'#!/bin/sh\nexec {proc.quoted(words)} "$@"\n'


ALL = State()
REDUCED = State(lwp=("lwp-max-events=3", "lwp-ptsc=off", "lwp-min-buffer=4"))  # it offers less
BARE = State(patched=False)


class Host:
    """One host."""

    def __init__(
        self, work: Path, name: str, number: int, *, daemon: Sequence[Path] = (Path("libvirtd"),),
        root: Path | None = None,
    ):
        self.name, self.number = name, number
        self.daemon = daemon  # the command that is its libvirtd
        self.root = root  # the Debian system whose libvirt it is, if that is not the machine's
        self.dir = work / name
        self.log = self.dir / "libvirtd.log"
        self.qemu_log = self.dir / f"cache/libvirt/qemu/log/{SMALL}.log"  # what QEMU of the small domain says
        self.state = ALL
        self.second = 0  # in which its emulator has changed
        self.child: subprocess.Popen[Any] | None = None
        self.started = False

    @property
    def program(self) -> Path:
        """Its emulator, from outside."""
        return self.dir / EMULATOR.relative_to("/")

    @property
    def uri(self) -> str:
        """Where virsh finds it."""
        socket = "virtqemud-sock" if self.daemon[-1].name == "virtqemud" else "libvirt-sock"
        return f"qemu+unix:///session?socket={self.dir}/run/libvirt/{socket}"

    def set(self, state: State) -> None:
        """From now on it is like this."""
        file = self.dir / "etc/vlwp/host.conf"
        if state != self.state or not self.program.exists():
            self.program.write_text(state.emulator(), encoding="utf-8")
            self.program.chmod(0o755)
            self.touch()
        self.state = state
        file.unlink(missing_ok=True)
        if state.file:
            file.write_text("".join(f"{line}\n" for line in state.file), encoding="utf-8")

    def touch(self) -> None:
        """libvirt asks its emulator again, as ctime is another one. It compares whole seconds."""
        self.program.touch()
        while (second := int(self.program.stat().st_ctime)) == self.second:
            time.sleep(POLL)
            self.program.touch()
        self.second = second

    def up(self) -> None:
        """Start it, if that was not tried."""
        if not self.child:
            self._configure()
            self.set(ALL)
            shared = ":".join(str(path) for path in (places.TOP, places.BUILD, self.dir.parent))
            words: list[proc.Word] = [HERE / "start-host.sh", self.name, self.dir, self.root or "", shared]
            self.child = proc.start(
                [*UNSHARE, *words, *self.daemon], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            assert self.child.stdout
            self.started = self.child.stdout.readline() == "up\n"
        log = self.log.read_text(encoding="utf-8") if self.log.is_file() and not self.started else ""
        assert self.started, f"the libvirtd of host {self.name} does not start: {log}"

    def end(self) -> None:
        """Its name spaces end, and what runs there."""
        if self.child:
            self.child.communicate()
            proc.wait(self.child)

    def _configure(self) -> None:
        ours = ("etc/libvirt/bin", "etc/vlwp", "over/vlwp", "libvirt", "cache", "data", "home")
        for name in ours:
            (self.dir / name).mkdir(parents=True)
        (self.dir / "run").mkdir(mode=0o700)
        conf = LIBVIRTD_CONF.format(number=self.number, log=self.log)
        (self.dir / "libvirtd.conf").write_text(conf, encoding="utf-8")
        (self.dir / "libvirt/qemu.conf").write_text(QEMU_CONF, encoding="utf-8")

    def virsh(self, *words: object) -> Ended:
        """A command of virsh."""
        return run(["virsh", "-q", "-c", self.uri, *map(str, words)])

    def do(self, *words: object) -> str:
        """A command of virsh that must succeed. Result: its output."""
        ended = self.virsh(*words)
        assert ended.status == 0, f"host {self.name}: virsh {words[0]} ends with status {ended.status}"
        return ended.out

    def state_of(self, domain: str = SMALL) -> str:
        """What virsh says of a domain: "running", "" if there is none."""
        ended = self.virsh("domstate", domain)
        return ended.out.strip() if ended.status == 0 else ""

    def capabilities(self) -> str:
        """What its libvirt says of its QEMU, in XML."""
        return self.do("domcapabilities", "--virttype", "qemu", "--emulatorbin", EMULATOR)

    def said(self) -> str:
        """What QEMU of the small domain has said."""
        return self.qemu_log.read_text(encoding="utf-8", errors="replace")
