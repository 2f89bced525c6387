# SPDX-License-Identifier: GPL-2.0-or-later
"""The hosts, which all tests of a worker share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.building import libvirt
from lab.tests.libvirt.site import Site
from lab.tests.libvirt.spaces import missing


def pytest_addoption(parser: pytest.Parser) -> None:
    """./vlwp soak libvirt gives them."""
    group = parser.getgroup("vlwp libvirt")
    group.addoption("--root", type=Path, metavar="DIR", help="the Debian system whose libvirt the hosts have")
    group.addoption("--patched", metavar="SERIES", help="of the patched libvirt, for test_patched.py")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Site]:
    """Hosts that are started when they are used, and end with the worker. libvirt's sockets must have short names."""
    if lack := missing():
        pytest.skip(lack)
    series = pytestconfig.getoption("--patched")
    patched = next((one for one in libvirt.known() if one.series == series), None)
    it = Site(tmp_path_factory.getbasetemp(), pytestconfig.getoption("--root"), patched)
    yield it
    for host in it.hosts.values():
        host.end()
