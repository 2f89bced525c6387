# SPDX-License-Identifier: GPL-2.0-or-later
"""'./vlwp install kvm' in fresh Debian systems, with the current and an older kernel of each base that they have; the
modules load in the nested lab."""

import lzma
import re
import subprocess
from pathlib import Path

import pytest

from lab.building import dkms, kernel
from lab.common import archive, proc
from lab.common.bases import LinuxBase, linux_base, linux_bases
from lab.common.places import KVM_PROGRAMS
from lab.guest.vm import run_directory
from lab.nested import l1
from lab.testing import fresh_root
from lab.testing.fresh_root import enter
from lab.tests.conftest import good, run

OLDEST = 2  # how many kernels of a suite, counted from the newest


def _in_clone(root: Path, command: str) -> list[str]:
    return enter(root, f"cd /home/vlwp; {command}")


def kernels_of(root: Path, base: LinuxBase | None = None) -> list[str]:
    """The kernels of a base (the chosen one) whose headers the system can install, oldest first."""
    series = (base or linux_base()).series
    names = proc.output(_in_clone(root, f"apt-get update -q >/dev/null; apt-cache pkgnames linux-headers-{series}."))
    found = re.findall(rf"^linux-headers-({re.escape(series)}\.\d+\+deb\d+-amd64)$", names, re.MULTILINE)
    return proc.output(["sort", "-V"], input="\n".join(found), stdin=None).split()


def _module(root: Path, version: str, name: str) -> Path:
    """The installed module; DKMS compresses it if the kernel's own ones are."""
    place = root / f"lib/modules/{version}/updates/dkms"
    packed = place / f"{name}.ko.xz"
    return packed if packed.is_file() else place / f"{name}.ko"


def _installs(root: Path, version: str) -> None:
    good(_in_clone(root, f"./vlwp install kvm {version}"))
    magic = good(["modinfo", "-F", "vermagic", _module(root, version, "kvm")])
    assert magic.split()[:1] == [version]
    assert _module(root, version, "kvm-amd").is_file()


def _needs_the_same_source(root: Path, version: str) -> None:
    """One clear line when the kernel's source is of another version."""
    source = f"linux-source-{'.'.join(version.split('.')[:2])}"
    script = f"dpkg -r --force-depends {source} >/dev/null; version=$(echo /usr/src/{dkms.NAME}-*); "
    script += f"dkms build --force {dkms.NAME}/${{version#*{dkms.NAME}-}} -k {version} 2>&1 || true; "
    script += f"cat {dkms.TREES}/*/build/make.log || true"
    out = run(_in_clone(root, script)).out
    line = rf"^{dkms.NAME}: {source} is version none, the headers of .* are .*: apt-get install {source}="
    assert re.search(line, out, re.MULTILINE)


def _uninstalls(root: Path, version: str) -> None:
    good(_in_clone(root, "./vlwp uninstall kvm"))
    assert not _module(root, version, "kvm").exists()
    assert run(_in_clone(root, "./vlwp uninstall kvm")).status != 0


def loads(root: Path, version: str, base: LinuxBase) -> None:
    """What DKMS has built loads; it is the kernel of the lab's guests."""
    place = root / "modules"
    place.mkdir(exist_ok=True)
    for name in ("kvm", "kvm-amd"):
        module = _module(root, version, name)
        data = module.read_bytes()
        (place / f"{name}.ko").write_bytes(lzma.decompress(data) if module.suffix == ".xz" else data)
    with run_directory() as folder:
        lab = l1.L1(modules=place, linux=base.series)
        assert l1.boot(lab, folder, [KVM_PROGRAMS / "kvm_test_abi"], stdin=subprocess.DEVNULL) == 0


@pytest.mark.soak
@pytest.mark.parametrize("suite", archive.RELEASES)
def test_dkms(suite: str) -> None:
    """Of each base that the suite has the newest and an older kernel; then without the kernel's source; removed."""
    fresh_root.require("soak dkms")
    l1.prepare()
    bases = [base for base in linux_bases() if base.suite in ("", f"{suite}-backports")]
    with fresh_root.fresh_root(suite, more=sorted({base.suite for base in bases} - {""})) as root:
        kernels: list[str] = []
        for base in bases:
            l1.prepare_kernel(base.series)
            kernels = kernels_of(root, base)
            assert kernels, f"{suite} has no headers of a {base.series} kernel"
            for version in kernels[-OLDEST:]:
                _installs(root, version)
                if version == kernel.version(base.series):
                    loads(root, version, base)
        _needs_the_same_source(root, kernels[-1])
        _uninstalls(root, kernels[-1])
