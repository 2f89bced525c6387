# SPDX-License-Identifier: GPL-2.0-or-later
"""Nova as Debian has it, with the package's QEMU, on two nodes that are name spaces: guests that are profiled are
scheduled by trait, moved, and refused by a node that cannot give what they have."""

from collections.abc import Callable, Iterator

import pytest

from lab.common import archive
from lab.testing import fresh_root, nodes
from lab.tests.managers import ready
from lab.tests.managers.nova.server import ADDRESSES, LENGTH, OPERATOR, PACKAGES, Cloud, Server

pytestmark = pytest.mark.soak

LWP, SIX, THREE = "CUSTOM_LWP", "CUSTOM_LWP_EVENTS_6", "CUSTOM_LWP_EVENTS_3"
Serve = Callable[..., Server]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """It runs, but no host can have a server yet."""
    ready.build()
    root = fresh_root.kept_root("nova", archive.debian_codename(), PACKAGES)
    ready.install(root, ADDRESSES)
    guest = ready.guest(tmp_path_factory.getbasetemp() / "shared", LENGTH)
    networks = {name: f"{at}/24" for name, at in ADDRESSES.items()}
    with nodes.two(root, tmp_path_factory.mktemp("nodes"), guest.work, networks, "true") as (a, b):
        yield Cloud(a, b, guest)


@pytest.fixture(scope="module")
def unequal(cloud: Cloud) -> Cloud:
    """Host a has six events, host b three."""
    cloud.has("a", "")
    cloud.has("b", "lwp-max-events=3\n")
    cloud.a.sh(ready.told("Nova", "openstack aggregate", HOST="a"), OPERATOR)
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
    pytest.param(THREE, "b", id="three-events"),
])
def test_nova_scheduled(unequal: Cloud, serve: Serve, trait: str, host: str) -> None:
    """A server goes to the one host that its flavor allows, and has LWP there."""
    server = serve(trait)
    assert server.host() == host
    server.undisturbed()


def test_nova_no_valid_host(unequal: Cloud, serve: Serve) -> None:
    """Nothing is tried if no other host has the class that the flavor requires, and Nova says so."""
    server = serve(unequal.lwp_class("a"))
    assert server.migrate("b") == "error"
    assert "No valid host was found" in server.event()
    assert server.host() == "a"


def test_nova_refused(unequal: Cloud, serve: Serve) -> None:
    """A flavor that asks for less than its server has lets QEMU refuse, and why is where docs/fleet.md says; the
    server continues."""
    server = serve(LWP, "--host=a")
    undisturbed = server.undisturbed()
    server.wait_for(2, "begins")
    assert server.migrate("b") == "failed"
    assert "LWP: source offers 6 events, this host 3" in server.log("b")
    assert server.host() == "a"
    assert server.truth(2) == undisturbed


def test_nova_moved(unequal: Cloud, serve: Serve) -> None:
    """Hosts that have become equal: a server moves there and back in the middle of rounds, of which nothing is lost."""
    unequal.has("b", "")
    server = serve(unequal.lwp_class("b"), "--host=a")
    undisturbed = server.undisturbed()
    for target, number in (("b", 2), ("a", 4)):
        server.wait_for(number, "begins")
        assert server.migrate(target) == "completed"
        server.is_in(number)
        assert server.host() == target
        assert server.truth(number) == undisturbed


def test_nova_host_model(cloud: Cloud, serve: Serve) -> None:
    """A server with the model of its host has LWP where the host's file announces it."""
    cloud.has("b", "announce=on\n", "cpu_mode = host-model\n")
    serve(LWP, "--host=b").undisturbed()
