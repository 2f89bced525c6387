# SPDX-License-Identifier: GPL-2.0-or-later
"""Nova as Debian has it, with the package's QEMU, on two nodes that are name spaces: guests that are profiled are
scheduled by trait, moved, and refused by a node that cannot give what they have."""

import shutil
from collections.abc import Callable, Iterator

import pytest

from lab.building import deps, kernel, qemu, tools
from lab.common import archive, places
from lab.common.say import Skip
from lab.start.packaged import PLACE
from lab.testing import fresh_root, nodes
from lab.tests.conftest import good
from lab.tests.managers.nova.server import ADDRESSES, LENGTH, PACKAGES, Cloud, Server
from lab.tests.moving import Guest

pytestmark = pytest.mark.soak

ALL = ("CUSTOM_LWP", "CUSTOM_LWP_CLASS_43724_AUTO_EXACT_F2_80062016_20010200_E000000F", "CUSTOM_LWP_EVENTS_6")
FEWER = ("CUSTOM_LWP", "CUSTOM_LWP_CLASS_43724_AUTO_EXACT_F2_80032016_20010200_E0000003", "CUSTOM_LWP_EVENTS_3")
LWP, CLASS, SIX = ALL
Serve = Callable[..., Server]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """It runs, but no host can have a server yet."""
    nodes.require("soak managers")
    if lacks := " ".join(deps.lacking(qemu.DEPENDS)):
        raise Skip(f"soak managers needs {lacks}, to build the package's QEMU: apt-get install {lacks}")
    root = fresh_root.kept_root("nova", archive.debian_codename(), PACKAGES)
    tools.build()
    kernel.build()
    qemu.build("package")
    shutil.rmtree(root / PLACE, ignore_errors=True)
    good([places.PYTHON, "-B", "-m", "lab.start.packaged", "install-qemu", root], cwd=places.TOP)
    guest = Guest(tmp_path_factory.mktemp("shared"), LENGTH)
    guest.make()
    shutil.copy(places.GUEST / "vmlinux", guest.work)
    hosts = "".join(f"{at} {name}\n" for name, at in {"localhost": "127.0.0.1", **ADDRESSES}.items())
    (root / "etc/hosts").write_text(hosts, encoding="ascii")
    networks = {name: f"{at}/24" for name, at in ADDRESSES.items()}
    with nodes.two(root, tmp_path_factory.mktemp("nodes"), guest.work, networks, "true") as (a, b):
        yield Cloud(a, b, guest)


@pytest.fixture(scope="module")
def unequal(cloud: Cloud) -> Cloud:
    """Host a has six events, host b three."""
    cloud.has("a", "", *ALL)
    cloud.has("b", "lwp-max-events=3\n", *FEWER)
    return cloud


@pytest.fixture
def serve(cloud: Cloud) -> Iterator[Serve]:
    """Starts a server whose host has a trait: serve(trait, word...). It ends with the test."""
    servers: list[Server] = []

    def start(trait: str, *words: str) -> Server:
        servers.append(Server(cloud, trait, *words))
        return servers[-1]

    yield start
    for server in servers:
        server.delete()


@pytest.mark.parametrize("trait, host", [
    pytest.param(SIX, "a", id="six-events"),
    pytest.param(FEWER[-1], "b", id="three-events"),
])
def test_nova_scheduled(unequal: Cloud, serve: Serve, trait: str, host: str) -> None:
    """Placement has the traits of the hosts' files. A server goes to the one host that its flavor allows, and has LWP
    there."""
    assert (unequal.traits("a"), unequal.traits("b")) == (sorted(ALL), sorted(FEWER))
    server = serve(trait)
    assert server.host() == host
    server.undisturbed()


def test_nova_no_valid_host(unequal: Cloud, serve: Serve) -> None:
    """Nothing is tried if no other host has the class that the flavor requires, and Nova says so."""
    server = serve(CLASS)
    assert server.migrate("b") == "error"
    assert "No valid host was found" in server.event()
    assert server.host() == "a"


def test_nova_refused(unequal: Cloud, serve: Serve) -> None:
    """A flavor that asks for less than its server has lets QEMU refuse. The log of the source's nova-compute says why;
    the server continues."""
    server = serve(LWP, "--host=a")
    undisturbed = server.undisturbed()
    server.wait_for(2, "begins")
    assert server.migrate("b") == "failed"
    log = unequal.a.path("/var/log/nova/nova-compute.log").read_text(encoding="utf-8")
    assert "LWP: source offers 6 events, this host 3" in log
    assert server.host() == "a"
    assert server.truth(2) == undisturbed


def test_nova_moved(unequal: Cloud, serve: Serve) -> None:
    """Hosts that have become equal: a server moves there and back in the middle of rounds, of which nothing is lost."""
    unequal.has("b", "", *ALL)
    server = serve(CLASS, "--host=a")
    undisturbed = server.undisturbed()
    for target, number in (("b", 2), ("a", 4)):
        server.wait_for(number, "begins")
        assert server.migrate(target) == "completed"
        server.is_in(number)
        assert server.host() == target
        assert server.truth(number) == undisturbed
