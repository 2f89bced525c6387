# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what is said when a suite no longer has the source of a base."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from lab.building import libvirt, linux, qemu_tree
from lab.common import archive, bases
from lab.common.say import Died


def has(monkeypatch: pytest.MonkeyPatch, *versions: str) -> None:
    """The archive has these versions of a source package, and nothing else."""
    monkeypatch.setattr(archive, "source_versions", lambda _: list(versions))
    monkeypatch.setattr(archive, "fetch", Mock(side_effect=Died("cannot download it: 404")))


def test_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, "1:11.1.3+ds-1")
    wanted = r"^trixie has QEMU 11\.1\.3 now, and no 10\.0\.x: upstream's qemu-10\.0\.\d+\.tar\.xz helps"
    with pytest.raises(Died, match=wanted):
        qemu_tree.wanted_version()


def test_another_point_release_of_qemu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It serves, and that is said."""
    has(monkeypatch, "1:10.0.99+ds-1")
    assert qemu_tree.wanted_version() == "1:10.0.99+ds-1"
    assert "trixie has QEMU 1:10.0.99+ds-1; the patches are made against 1:10.0." in capsys.readouterr().err


def test_a_tarball_of_qemu_that_no_list_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is the wanted one, whatever the lists have; if it has gone, upstream's helps."""
    has(monkeypatch, "1:11.1.3+ds-1")
    monkeypatch.setenv(bases.CHOICE, "qemu-11.1")
    monkeypatch.setattr(qemu_tree, "DL", tmp_path)
    monkeypatch.setattr(archive, "pooled", Mock(side_effect=Died("cannot download it")))
    with pytest.raises(Died, match=r"^cannot download it: upstream's qemu-11\.1\.\d+\.tar\.xz helps"):
        qemu_tree.tarball()


def test_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests have its kernel still."""
    has(monkeypatch)
    with pytest.raises(Died, match=r"404: upstream's linux-6\.12\.9\.tar\.xz helps, VLWP_LINUX_TARBALL=FILE"):
        linux._source("6.12.9-1~deb12u1")


def test_libvirt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    has(monkeypatch, "12.8.0-1")
    monkeypatch.setattr(libvirt, "SRC", tmp_path)
    wanted = r"^bookworm has libvirt 12\.8\.0 now, and no 9\.0\.x: .*libvirt-9\.0\.N\.tar\.xz helps, unpacked"
    with pytest.raises(Died, match=wanted):
        libvirt.fetch(libvirt.known()[0])
