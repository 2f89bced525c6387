# SPDX-License-Identifier: GPL-2.0-or-later
"""A host: a libvirtd with directories, a UUID, a name and an /etc/libvirt of its own, and the QEMU that it has. No
root is needed: it is the libvirt of a user (qemu:///session) in name spaces that end with the test."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.common import places
from lab.common.report import Check, Failure, tail
from lab.common.say import say

HOOK = places.HOST / "host-tools/libvirt-hook-qemu"
EMULATOR = places.LAB / "libvirt/emulator.sh"
START = places.LAB / "libvirt/start-host.sh"
CPU_MAP = Path("/usr/share/libvirt/cpu_map")
LWP_MAP = places.HOST / "host-tools/x86_lwp.xml"
INCLUDE = "<include filename='{}'/>"

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
    """What a host has to do with LWP; each case says it of the hosts that it uses."""

    lwp: tuple[str, ...] = ()  # NAME=VALUE: what its QEMUs make of lwp when nothing is said
    patched: bool = True  # False: QEMU of the same version without LWP
    hook: bool = True
    offers: Mapping[str, object] | str | None = None  # its /etc/libvirt/lwp-host.json

    def emulator(self) -> list[str]:
        """The program and its first arguments."""
        program = places.qemu() if self.patched else places.qemu_base()
        words = [str(program), "-L", str(places.FIRMWARE)]
        return words + [word for setting in self.lwp for word in ("-global", f"x86_64-cpu.{setting}")]


UNPATCHED = State(patched=False)


class Host:
    """One host."""

    def __init__(
        self, work: Path, name: str, number: int, *, cpu_map: bool = False, first: State = State(),
        daemon: Sequence[Path] = (Path("libvirtd"),), root: Path | None = None,
    ):
        self.name, self.number, self.cpu_map = name, number, cpu_map
        self.first = first  # what its libvirt sees of QEMU, and remembers
        self.daemon = daemon  # the command that is its libvirtd
        self.root = root  # the Debian system whose libvirt it is, if that is not the machine's
        self.dir = work / name
        self.log = self.dir / "libvirtd.log"
        self.state = State()
        self.started = self.broken = False

    @property
    def uri(self) -> str:
        """Where virsh finds it."""
        socket = "virtqemud-sock" if self.daemon[-1].name == "virtqemud" else "libvirt-sock"
        return f"qemu+unix:///session?socket={self.dir}/run/libvirt/{socket}"

    def qemu_log(self, domain: str) -> Path:
        """What a domain's QEMU says."""
        return self.dir / "cache/libvirt/qemu/log" / f"{domain}.log"

    def set(self, state: State) -> None:
        """From now on it is like this."""
        self.state = state
        etc = self.dir / "etc"
        (etc / "hooks").mkdir(parents=True, exist_ok=True)
        (etc / "emulator").write_text("".join(f"{word}\n" for word in state.emulator()), encoding="utf-8")
        if state.hook:
            shutil.copy2(HOOK, etc / "hooks/qemu")
        else:
            (etc / "hooks/qemu").unlink(missing_ok=True)
        offers = etc / "lwp-host.json"
        if state.offers is None:
            offers.unlink(missing_ok=True)
        else:
            text = state.offers if isinstance(state.offers, str) else json.dumps(state.offers, indent=1)
            offers.write_text(text, encoding="utf-8")

    def up(self, check: Check) -> None:
        """Start it, if it has not been started; libvirt looks at its QEMU, as it is at first."""
        if self.broken:
            raise Failure(f"host {self.name} is not there: its libvirtd did not start")
        if self.started:
            return
        self.broken = True
        say(f"starting host {self.name} ...")
        self._configure()
        self.set(self.first)
        shared = ":".join(str(path) for path in (places.TOP, places.BUILD, self.dir.parent))
        if check.call(["unshare", "-mu", START, self.name, self.dir, self.root or "", shared, *self.daemon]):
            log = tail(self.log, 1) if self.log.is_file() else []
            raise Failure(f"the libvirtd of host {self.name} does not start: {' '.join(log)}")
        self.broken, self.started = False, True
        self.capabilities(check)

    def _configure(self) -> None:
        for name in ("etc/hooks", "config/libvirt", "cache", "data", "home"):
            (self.dir / name).mkdir(parents=True)
        (self.dir / "run").mkdir(mode=0o700)
        conf = LIBVIRTD_CONF.format(number=self.number, log=self.log)
        (self.dir / "libvirtd.conf").write_text(conf, encoding="utf-8")
        (self.dir / "config/libvirt/qemu.conf").write_text(QEMU_CONF, encoding="utf-8")
        if self.cpu_map:
            self._make_cpu_map(self.dir / "cpu_map")

    def _make_cpu_map(self, place: Path) -> None:
        """The CPU map that knows the bits of LWP, as docs/libvirt.md says how."""
        shutil.copytree(self.root / CPU_MAP.relative_to("/") if self.root else CPU_MAP, place)
        shutil.copy(LWP_MAP, place)
        index = place / "index.xml"
        text, features = index.read_text(encoding="utf-8"), INCLUDE.format("x86_features.xml")
        if text.count(features) != 1:
            raise Failure(f"{CPU_MAP}/index.xml does not have {features} once")
        ours = INCLUDE.format(LWP_MAP.name)
        index.write_text(text.replace(features, f"{features}\n  {ours}"), encoding="utf-8")

    def virsh(self, check: Check, *words: object, stderr: bool = False) -> tuple[int, str]:
        """A command of virsh. Result: as check.text()."""
        return check.text(["virsh", "-q", "-c", self.uri, *map(str, words)], stderr=stderr)

    def do(self, check: Check, *words: object) -> str:
        """A command of virsh that must succeed. Result: its output."""
        status, text = self.virsh(check, *words)
        check.want(status == 0, f"host {self.name}: virsh {words[0]} ends with status {status}")
        return text

    def state_of(self, check: Check, domain: str) -> str:
        """What virsh says of a domain: "running", "" if there is none."""
        status, text = self.virsh(check, "domstate", domain)
        return text.strip() if status == 0 else ""

    def capabilities(self, check: Check) -> str:
        """What its libvirt says of its QEMU, in XML."""
        return self.do(check, "domcapabilities", "--virttype", "qemu", "--emulatorbin", EMULATOR)
