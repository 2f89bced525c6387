# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU with its monitor (QMP), and the client's side of its gdb stub."""

import json
import re
import socket
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from lab.common import proc

PATIENCE = 180  # seconds without a word after which a machine is given up
CAPABILITIES = ("return-path", "multifd", "postcopy-ram")  # ways to migrate, which exclude each other
Event = dict[str, Any]


class Refused(Exception):
    """What QEMU says instead of an answer."""


class Monitor:
    """QEMU's monitor: add `words` to a command line, start it with `passed`, accept()."""

    def __init__(self) -> None:
        self.socket, self._theirs = socket.socketpair()
        self.socket.settimeout(PATIENCE)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.events: list[Event] = []
        number = self._theirs.fileno()
        self.words = ["-chardev", f"socket,id=qmp,fd={number}", "-mon", "chardev=qmp,mode=control"]
        self.passed = [number]

    def accept(self) -> None:
        """QEMU has been started."""
        self._theirs.close()
        self._next()  # the greeting
        self.do("qmp_capabilities")

    def close(self) -> None:
        """QEMU has ended."""
        self.lines.close()
        self.socket.close()
        self._theirs.close()

    def gone(self) -> str:
        """What to say of a QEMU that does not answer any more."""
        return "QEMU is gone"

    def _next(self) -> Event:
        try:
            line = self.lines.readline()
        except ConnectionError:
            line = ""
        if not line:
            raise EOFError(self.gone())
        found: Event = json.loads(line)
        return found

    def send(self, command: str, **arguments: Any) -> None:
        """Give a command, whose answer() may come late."""
        try:
            self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        except ConnectionError as err:
            raise EOFError(self.gone()) from err

    def answer(self) -> Any:
        """To a command that was sent. Raises Refused, or EOFError when QEMU has ended."""
        while "event" in (answer := self._next()):
            self.events.append(answer)
        if "error" in answer:
            raise Refused(answer["error"]["desc"])
        return answer["return"]

    def do(self, command: str, **arguments: Any) -> Any:
        """A command and its answer."""
        self.send(command, **arguments)
        return self.answer()

    def event(self, *names: str) -> Event:
        """The next event of one of these names."""
        while True:
            event = self.events.pop(0) if self.events else self._next()
            if event["event"] in names:
                return event

    def cpu(self, name: str, index: int = 0) -> Any:
        """A property of a CPU."""
        return self.do("qom-get", path=self.do("query-cpus-fast")[index]["qom-path"], property=name)

    def stat(self, name: str, target: str = "vcpu") -> int:
        """A statistic of the first CPU's LWP, or of the machine's ("vm")."""
        which = {} if target == "vm" else {"vcpus": [self.do("query-cpus-fast")[0]["qom-path"]]}
        [entry] = self.do("query-stats", target=target, providers=[{"provider": "lwp", "names": [name]}], **which)
        return int(entry["stats"][0]["value"])

    def set_cpu(self, name: str, value: object) -> None:
        """A property of the first CPU."""
        self.do("qom-set", path=self.do("query-cpus-fast")[0]["qom-path"], property=name, value=value)

    def status(self) -> str:
        """As "running"."""
        return str(self.do("query-status")["status"])

    def plug(self, **properties: Any) -> None:
        """One more CPU."""
        slot = next(slot for slot in self.do("query-hotpluggable-cpus") if "qom-path" not in slot)
        self.do("device_add", **{"driver": slot["type"], "id": "more", **slot["props"], **properties})

    def way(self, capability: str = "events") -> None:
        """Of the next migration; "events": none of the special ones."""
        off = [{"capability": name, "state": False} for name in CAPABILITIES]
        on = [{"capability": name, "state": True} for name in {capability, "events"}]
        for state in [*off, *on]:  # those that exclude one go first
            self.do("migrate-set-capabilities", capabilities=[state])

    def migrated(self) -> bool:
        """Has it been sent, or has it loaded what was? False: that failed, maybe with QEMU. Waits for the end."""
        try:
            while (status := self.event("MIGRATION")["data"]["status"]) not in ("completed", "failed"):
                pass
        except EOFError:
            return False
        return bool(status == "completed")

    def go(self) -> None:
        """It runs, maybe to its end, and nobody waits for an answer."""
        with suppress(EOFError):
            self.send("cont")

    def save(self, path: Path, capability: str = "events") -> bytearray:
        """Its state as a stream, also in a file."""
        self.way(capability)
        self.do("migrate", uri=f"file:{path}")
        assert self.migrated(), "it is not saved"
        return bytearray(path.read_bytes())

    def load(self, path: Path, capability: str = "events") -> bool:
        """Take up a stream, of a machine that was started with -incoming defer. False: it is refused."""
        self.way(capability)
        self.do("migrate-incoming", uri=f"file:{path}")
        return self.migrated()


class Vm(Monitor):
    """A machine. Its standard output is part of the log, or has a file of its own."""

    def __init__(
        self, argv: Sequence[proc.Word], log: Path, output: Path | None = None, env: dict[str, str] | None = None,
        fds: Sequence[int] = (),
    ):
        super().__init__()
        self.log, self.output = log, output or log
        with ExitStack() as files:
            errors = files.enter_context(log.open("wb"))
            out = files.enter_context(output.open("wb")) if output else errors
            self.child = proc.start(
                proc.with_us([*argv, *self.words]), env=env, pass_fds=[*self.passed, *fds], stdin=subprocess.DEVNULL,
                stdout=out, stderr=errors,
            )
        self.accept()

    def __enter__(self) -> "Vm":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def said(self) -> str:
        """What is in its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def gone(self) -> str:
        return f"{self.log.stem} has ended with status {self.wait()}: {self.said()}"

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit status, when it has ended by itself; it is ended after so long (subprocess.TimeoutExpired)."""
        return proc.wait(self.child, seconds)

    def kill(self) -> None:
        """It ends."""
        self.child.kill()
        self.child.wait()
        proc.end(self.child)
        self.close()


class Stub:
    """The debugger's side of a gdb stub. Addresses are hexadecimal."""

    def __init__(self, path: Path | None = None, connected: socket.socket | None = None):
        self.socket = connected or socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        if path:
            self.socket.connect(str(path))
        self.rest = b""

    @staticmethod
    def words(path: Path) -> list[str]:
        """For QEMU's command line."""
        return ["-gdb", f"unix:{path},server=on,wait=off"]

    def ask(self, packet: str) -> str:
        """The answer to a packet; "" when QEMU has ended."""
        with suppress(ConnectionError):
            self.socket.sendall(f"${packet}#{sum(packet.encode()) % 256:02x}".encode())
            return self._answer()
        return ""

    def _answer(self) -> str:
        while True:
            found = re.search(rb"\$([^#]*)#..", self.rest)
            if found:
                self.rest = self.rest[found.end():]
                if not found[1].startswith(b"W"):  # the last of a QEMU that ends waits for no answer
                    self.socket.sendall(b"+")
                return found[1].decode()
            more = self.socket.recv(65536)
            if not more:
                return ""
            self.rest += more

    def run_to(self, address: int) -> None:
        """Until it comes there; the breakpoint goes."""
        assert self.ask(f"Z1,{address:x},1") == "OK"
        assert self.ask("c").startswith("T05"), f"it does not come to {address:#x}"
        assert self.ask(f"z1,{address:x},1") == "OK"

    def rip(self) -> int:
        """The instruction's address: after sixteen registers of 8 bytes."""
        return int.from_bytes(bytes.fromhex(self.ask("g")[256:272]), "little")
