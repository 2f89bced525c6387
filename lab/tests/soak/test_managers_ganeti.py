# SPDX-License-Identifier: GPL-2.0-or-later
"""Ganeti as Debian has it, with the package's QEMU, on two nodes that are name spaces: a Linux guest that is profiled
moves to the other node and back, and is refused by a node that cannot give what it has."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.common import archive
from lab.testing import fresh_root, nodes
from lab.testing.nodes import EMULATOR, SHARED, Node
from lab.tests.conftest import good, run
from lab.tests.managers import ready
from lab.tests.moving import Guest

pytestmark = pytest.mark.soak

PACKAGES = ("ganeti", "iproute2", "ipxe-qemu", "openssh-server", "seabios")
NETWORK = "10.45.0"
HOSTS = {"cluster.lab": f"{NETWORK}.1", "a.lab": f"{NETWORK}.11", "b.lab": f"{NETWORK}.12"}
NODES = {name: f"{HOSTS[name]}/24" for name in ("a.lab", "b.lab")}
BEGIN = "mkdir /run/sshd; /usr/sbin/sshd"
OS = "usr/share/ganeti/os/none"  # a system that is not installed: the guest has a kernel and an initrd
NAME = "guest.lab"
LOG = f"/var/log/ganeti/kvm/{NAME}.log"
LENGTH = 4_000_000  # of a round, in thousands of instructions: Ganeti takes a while for a move

CLUSTER = f"kvm:kvm_flag=disabled,machine_version=q35,kernel_path={SHARED}/vmlinux,initrd_path={SHARED}/initrd"
PORT = rf"-chardev file\,id=lines\,path={SHARED}/lines\,append=on -device isa-serial\,chardev=lines"
INSTANCE = f"kvm:kernel_args={{}},serial_console=false,kvm_extra={PORT}"
LESS = "s/^lwp-min-buffer=.*/lwp-min-buffer=8/"  # a ring must be larger than the guest was told
REASON = "LWP: source offers rings of at least 1 times 32 records, this host 8: start both with lwp-min-buffer=8\n"


def _install(root: Path) -> None:
    """What both nodes have besides packages: also a system for instances, and root's key."""
    ready.install(root, HOSTS)
    (root / "usr/bin/kvm").symlink_to(EMULATOR)  # 3.1 asks this one for its version, too, whatever kvm_path is
    (root / OS).mkdir(parents=True)
    for script in ("create", "import", "export", "rename"):
        (root / OS / script).symlink_to("/bin/true")
    (root / OS / "ganeti_api_version").write_text("10\n", encoding="ascii")
    keys = root / "root/.ssh"
    keys.mkdir(mode=0o700, exist_ok=True)
    good(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / "id_ed25519"])
    shutil.copy(keys / "id_ed25519.pub", keys / "authorized_keys")


@dataclass
class Cluster:
    """Two nodes and a guest."""

    a: Node
    b: Node
    guest: Guest

    def start(self) -> None:
        """Of nodes that know nothing of each other a cluster as docs/fleet.md tells, and the guest at node a."""
        all_have = ("--enabled-hypervisors=kvm", "--enabled-disk-templates=diskless", "--master-netdev=eth0")
        self.a.do("gnt-cluster", "init", *all_have, "-H", CLUSTER, "cluster.lab")
        self.a.do("gnt-node", "add", "--no-ssh-key-check", "b.lab")
        words = ("--disk-template=diskless", "--no-nics", "--ignore-ipolicy", "--no-name-check", "--no-ip-check")
        where = ("--no-start", "--node=a.lab", f"--os-type={Path(OS).name}", "--backend-parameters=memory=256,vcpus=2")
        self.a.do("gnt-instance", "add", *words, *where, "-H", INSTANCE.format(self.guest.cmdline), NAME)
        for node in (self.a, self.b):
            node.sh(ready.told("Every host", HOSTS="HOST.json"))
        # A new cluster's policy wants a network.
        self.a.sh(ready.told("Ganeti", INSTANCE=f"--ignore-ipolicy {NAME}", NODE="a.lab"))
        self.a.sh(ready.told("Ganeti", "gnt-node", NODE="b.lab"))
        self.a.sh("mkdir -p /var/lib/prometheus/node-exporter\n" + ready.told("Drift"))
        self.a.do("gnt-instance", "startup", NAME)

    def is_at(self, node: Node) -> None:
        """The guest runs there and nowhere else."""
        said = self.a.do("gnt-instance", "list", "--no-headers", "-o", "pnode,status", NAME)
        assert said.split() == [node.name, "running"]

    def moves(self, node: Node, number: int) -> None:
        """In the middle of a round it moves there."""
        self.guest.wait_for(number, "begins")
        self.a.do("gnt-instance", "migrate", "-f", NAME)
        self.guest.is_in(number)
        self.is_at(node)

    def stays(self, number: int) -> None:
        """In the middle of a round node b refuses it, and tells why where docs/fleet.md says."""
        self.guest.wait_for(number, "begins")
        ended = run(self.a.argv("gnt-instance", "migrate", "-f", NAME))
        assert ended.status and f"Could not migrate instance {NAME}" in ended.said
        assert REASON in self.b.path(LOG).read_text(encoding="utf-8")
        self.guest.is_in(number)
        self.is_at(self.a)


@contextmanager
def cluster(suite: str, work: Path) -> Iterator[Cluster]:
    """The Ganeti of a Debian suite, not yet set up."""
    ready.build()
    guest = ready.guest(work / "shared", LENGTH)
    with fresh_root.fresh_root(suite, PACKAGES) as root:
        _install(root)
        with nodes.two(root, work, guest.work, NODES, BEGIN) as (a, b):
            yield Cluster(a, b, guest)


@pytest.mark.parametrize("suite", archive.RELEASES)
def test_ganeti(suite: str, tmp_path: Path) -> None:
    """Ganeti moves a guest while it is profiled, of which nothing is lost, and tells why a node refuses it."""
    with cluster(suite, tmp_path) as it:
        it.start()
        undisturbed = it.guest.undisturbed()
        for node, number in ((it.b, 2), (it.a, 3)):
            it.moves(node, number)
            assert it.guest.truth(number) == undisturbed
        it.b.do("sed", "-i", LESS, "/etc/vlwp/host.conf")
        it.stays(4)
        assert it.guest.truth(4) == undisturbed
