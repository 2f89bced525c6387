# SPDX-License-Identifier: GPL-2.0-or-later
"""A cloud of two nodes that both are compute hosts, the first one its controller, too; and its servers."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from lab.testing.nodes import EMULATOR, SHARED, Node
from lab.tests import moving
from lab.tests.managers import ready

HERE = Path(__file__).parent
PACKAGES = (
    *("nova-api", "nova-conductor", "nova-scheduler", "nova-compute", "nova-compute-kvm", "keystone", "placement-api"),
    *("glance-api", "mariadb-server", "rabbitmq-server", "python3-osc-placement", "iproute2"),
)
ADDRESSES = {"a": "192.0.2.1", "b": "192.0.2.2"}
USER = {
    **{"auth_type": "password", "auth_url": "http://a:5000/v3", "username": "admin", "password": "lwp"},
    **{"project_name": "admin", "user_domain_id": "default", "project_domain_id": "default"},
}
OPERATOR = [f"OS_{name.upper()}={value}" for name, value in {**USER, "identity_api_version": "3"}.items()]
API = "--os-compute-api-version=2.84"  # has the details of what has failed
EPYC = "cpu_mode = custom\ncpu_models = EPYC\ncpu_model_extra_flags = +lwp\n"
TRAIT = re.compile(r"CUSTOM_LWP[\w.]*")  # docs/fleet.md ends one with dots
OVER = ("completed", "failed", "error")  # of a migration
PATIENCE = 600  # seconds for what takes some ten on two processors
LENGTH = 10_000_000  # of a round, in thousands of instructions: a migration takes half a minute


def wait_for(what: str, done: Callable[[], Any]) -> Any:
    """What a function returns as soon as that is true."""
    end = time.monotonic() + PATIENCE
    while not (found := done()):
        assert time.monotonic() < end, f"not in {PATIENCE} s: {what}"
        time.sleep(1)
    return found


class Cloud:
    """Its nodes, and the commands of its operator."""

    def __init__(self, a: Node, b: Node, guest: moving.Guest):
        """guest: what servers boot; its folder is the nodes' SHARED."""
        self.a, self.nodes, self.guest = a, {"a": a, "b": b}, guest
        user = "\n".join(f"{name} = {value}" for name, value in USER.items())
        for file in (*HERE.glob("*.sh"), *HERE.glob("*.conf")):
            text = file.read_text(encoding="ascii").replace("@USER@", user)
            (guest.work / file.name).write_text(text, encoding="ascii")
        (guest.work / "operator").write_text("\n".join(OPERATOR), encoding="ascii")
        a.do("bash", f"{SHARED}/controller.sh")
        (guest.work / "disk").write_bytes(bytes(1 << 20))  # without one Nova has no servers
        parts = (f"kernel_id={self._image('vmlinux')}", f"ramdisk_id={self._image('initrd')}")
        has = (*parts, f"os_command_line={guest.cmdline}")
        self._image("disk", *(f"--property={one}" for one in has))

    def openstack(self, *words: str) -> str:
        """A command of the operator that must succeed."""
        return self.a.do("env", *OPERATOR, "openstack", API, *words)

    def ask(self, *words: str) -> Any:
        """What openstack says."""
        return json.loads(self.openstack(*words, "-f", "json"))

    def _image(self, name: str, *words: str) -> str:
        """Its number. All are raw: Nova with Debian's security patches refuses to move a server with others."""
        formats = ("--disk-format=raw", "--container-format=bare")
        return str(self.ask("image", "create", f"--file={SHARED}/{name}", *formats, *words, name)["id"])

    def has(self, host: str, numbers: str, cpu: str = EPYC) -> None:
        """A host has this host file, this CPU for its guests, and the traits that lwpctl says. nova-compute adds the
        traits of its file when it starts; those that placement has of an earlier one stay until somebody removes
        them."""
        node = self.nodes[host]
        node.write("/etc/vlwp/host.conf", numbers)
        node.do("touch", EMULATOR)  # libvirt asks it again
        node.write("/etc/nova/nova-compute.conf", f"[libvirt]\n{cpu}")
        node.sh("mkdir -p /etc/nova/provider_config\n" + ready.told("Nova", "lwpctl"))
        traits = TRAIT.findall(node.path("/etc/nova/provider_config/lwp.yaml").read_text(encoding="ascii"))
        if number := self._provider(host):
            node.do("bash", f"{SHARED}/compute.sh", "stop")
            self.openstack("resource", "provider", "trait", "delete", number)
        node.do("bash", f"{SHARED}/compute.sh")
        wait_for(f"placement has {traits} of {host}", lambda: self.traits(host) == sorted(traits))

    def _provider(self, host: str) -> str:
        """Its number in placement, "" if it has none."""
        return next((one["uuid"] for one in self.ask("resource", "provider", "list") if one["name"] == host), "")

    def traits(self, host: str) -> list[str]:
        """Those of LWP that placement has."""
        number = self._provider(host)
        found = self.ask("resource", "provider", "trait", "list", number) if number else []
        return sorted(one["name"] for one in found if TRAIT.match(one["name"]))

    def lwp_class(self, host: str) -> str:
        """The trait that is its class."""
        return next(trait for trait in self.traits(host) if "_CLASS_" in trait)


class Server(moving.Guest):
    """A server. Its console is a file of each host that it was on; it is read to its end after the server has left."""

    def __init__(self, cloud: Cloud, trait: str, *words: str):
        """It runs on a host with this trait, as its flavor says."""
        super().__init__(cloud.guest.work, LENGTH)
        self.cloud, self.consoles = cloud, list[IO[str]]()
        self.flavor = str(cloud.ask("flavor", "create", "--ram=256", "--vcpus=2", "--disk=0", trait)["id"])
        flavor = TRAIT.sub(trait, ready.told("Nova", "openstack flavor", FLAVOR=self.flavor))
        cloud.a.sh(flavor, OPERATOR)
        options = ("--image=disk", f"--flavor={self.flavor}", "--nic=none", "--wait", *words)
        self.id = str(cloud.ask("server", "create", *options, "guest")["id"])
        self._listen()

    def delete(self) -> None:
        """It ends."""
        self.cloud.openstack("server", "delete", "--wait", self.id)
        self.cloud.openstack("flavor", "delete", self.flavor)

    def host(self) -> str:
        """Where it runs."""
        return self._show("OS-EXT-SRV-ATTR:host")

    def _show(self, what: str) -> str:
        return str(self.cloud.ask("server", "show", self.id)[what])

    def log(self, host: str) -> str:
        """What its QEMU has said on a host."""
        name = self._show("OS-EXT-SRV-ATTR:instance_name")
        return self.cloud.nodes[host].path(f"/var/log/libvirt/qemu/{name}.log").read_text(encoding="utf-8")

    def _listen(self) -> None:
        console = self.cloud.nodes[self.host()].path(f"/var/lib/nova/instances/{self.id}/console.log")
        self.consoles.append(console.open(encoding="utf-8", errors="replace", newline="\n"))

    def heard(self) -> str:
        """What it has said, on all hosts."""
        for console in self.consoles:
            console.seek(0)
        return "".join(console.read() for console in self.consoles).replace("\r", "")

    def migrate(self, target: str) -> str:
        """Ask Nova to move it. Result: what became of that."""
        self.cloud.openstack("server", "migrate", "--live-migration", f"--host={target}", self.id)
        state = str(wait_for("a live migration is over", self._migration))
        wait_for("Nova has cleaned up after it", lambda: self._show("status") == "ACTIVE")
        if state == "completed":
            self._listen()
        return state

    def _migration(self) -> str:
        """What the last one has become; "": it is not over."""
        found = self.cloud.ask("server", "migration", "list", f"--server={self.id}")
        last = max(found, key=lambda one: int(one["Id"]))
        return str(last["Status"]) if last["Status"] in OVER else ""

    def event(self) -> str:
        """What Nova says of the last thing that was done to it."""
        last = self.cloud.ask("server", "event", "list", self.id)[0]["Request ID"]
        return str(self.cloud.ask("server", "event", "show", self.id, last)["events"])
