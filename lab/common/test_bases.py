# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the choice among the bases."""

import os
import re
from pathlib import Path
from unittest import mock

import pytest

from lab.building import dkms, linux
from lab.common import bases
from lab.common.say import Died, Usage
from lab.tests.soak.test_bases import combinations


@pytest.fixture(autouse=True)
def nobody_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Debian 12, where the running kernel makes no difference."""
    monkeypatch.delenv(bases.CHOICE, raising=False)
    monkeypatch.setattr(bases, "running_kernel", lambda: ("bookworm", "6.1.0-56-amd64"))


@pytest.mark.parametrize("codename, release, wanted", [
    ("trixie", "7.3.4+deb13-amd64", "7.3"), ("trixie", "6.12.90+deb13-amd64", "6.12"),
    ("trixie", "7.30.1+deb13-amd64", "6.12"), ("bookworm", "7.3.4+deb13-amd64", "6.12"),
])
def test_running_kernel(monkeypatch: pytest.MonkeyPatch, codename: str, release: str, wanted: str) -> None:
    """On Debian 13 the default is the kernel that is running, if it is one of the bases; --base is stronger."""
    monkeypatch.setattr(bases, "running_kernel", lambda: (codename, release))
    assert bases.linux_base().series == wanted
    assert bases.default_pair() == f"linux-{wanted},qemu-10.0"
    assert bases.of_linux("kvm") == ("kvm" if wanted == "6.12" else f"kvm-{wanted}")
    monkeypatch.setenv(bases.CHOICE, "linux-6.12")
    assert bases.linux_base().series == "6.12"


def test_dkms(tmp_path: Path) -> None:
    """DKMS's package is for the kernels of all bases; it derives the source's name from the kernel's."""
    dkms.write_package(tmp_path)
    conf, prepare = ((tmp_path / name).read_text(encoding="utf-8") for name in ("dkms.conf", "prepare"))
    for base in bases.linux_bases():
        assert base.source == f"linux-source-{base.series}"
        patches = tmp_path / "kvm/patches" / base.series
        assert (patches / "lwp_compat.h").is_file()
        texts = {file.name: file.read_text("utf-8") for file in patches.glob("*.patch")}
        assert texts == linux.folders(base.series)[0].texts()
    pattern = r"^(6\.12|7\.3)\."
    assert f'BUILD_EXCLUSIVE_KERNEL="{pattern}"' in conf
    assert f"[[ $kernel =~ {pattern} ]] || die" in prepare
    assert not re.findall("@[A-Z]+@", conf + prepare)


def test_base_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the base of the kernel, whatever --base says, and names the bases if there is none."""
    monkeypatch.setenv(bases.CHOICE, "linux-6.12")
    assert bases.base_for("7.3.4+deb13-amd64").source == "linux-source-7.3"
    assert bases.base_for("6.12.90+deb13-amd64").source == "linux-source-6.12"
    for kernel in ("6.1.0-56-amd64", "7.4.1+deb13-amd64"):
        with pytest.raises(Died, match=f"kernel {kernel[0]}.*Debian's 6.12 and 7.3 kernels"):
            bases.base_for(kernel)


def test_default() -> None:
    """Without a choice directories have no suffix."""
    assert bases.qemu_base().series == bases.default("qemu")
    assert bases.of_qemu("qemu") == "qemu"


def test_qemu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel stays the default one."""
    monkeypatch.setenv(bases.CHOICE, "qemu-11.1")
    assert bases.qemu_base().version.startswith("1:11.1.")
    assert bases.linux_base().series == "6.12"
    assert bases.of_qemu("qemu-base") == "qemu-base-11.1"
    assert bases.of_qemu("qemu", "10.0") == "qemu"


def test_refused() -> None:
    """What is not there, and two of a kind."""
    for text in ("qemu-9", "", "10.0", "qemu-10.0,", "qemu-10.0,qemu-11.1", "linux-6.12,linux-7.3"):
        with pytest.raises(Usage):
            bases.check(text)


def test_combinations() -> None:
    """The default one is not tried again."""
    wanted = ["linux-6.12,qemu-11.1", "linux-7.3,qemu-10.0", "linux-7.3,qemu-11.1"]
    assert combinations() == wanted


def test_words() -> None:
    """The command line chooses, but not after "--"; a wrong choice is left to the command to refuse."""
    for words, wanted in (
        (["test", "kvm", "--base=linux-7.3"], "7.3"),
        (["run", "--base", "qemu-10.0,linux-7.3"], "7.3"),
        (["run", "--", "--base=linux-7.3"], "6.12"),
        (["run", "--base=linux-9"], "6.12"),
    ):
        with mock.patch.dict(os.environ):
            bases.choose(words)
            assert bases.linux_base().series == wanted
    assert bases.WRONG == ["linux-9"]
    bases.WRONG.clear()
