# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages in fresh Debian systems: built in one, looked at by lintian, installed and removed in another.
There the packaged QEMU runs a guest under libvirt, and DKMS builds the modules, which load in the nested lab."""

import shutil
from pathlib import Path

import pytest

from lab.building import kernel
from lab.common import archive, proc
from lab.common.bases import linux_base
from lab.common.check import Check
from lab.common.places import LAB
from lab.nested import l1
from lab.soaks import fresh_root
from lab.tests.soak.test_dkms import kernels_of, loads
from lab.soaks.fresh_root import enter

NAMES = ("liblwp-dev", "liblwp1", "vlwp-conformance", "vlwp-dkms", "vlwp-guest-tools", "vlwp-qemu", "vlwp-tools")
EMULATOR = "/usr/lib/vlwp/bin/qemu-system-x86_64"
DOMAIN = LAB / "tests/soak/packages-domain.xml"
FLAT = "usr/lib/vlwp/conformance/flat.elf"
# What a Debian system must have to build them, besides what debian/control says.
TO_BUILD = ("git", "dpkg-dev", "lintian")
LIBVIRT = "libvirt-daemon-system libvirt-daemon-driver-qemu libvirt-clients"


def _apt(words: str) -> str:
    return f"DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends {words}"


def _builds(check: Check, root: Path, place: Path) -> None:
    check.run(enter(root, f"apt-get -q update; {_apt('build-dep /home/vlwp')}"))
    log = "build/log/package-build"  # which goes with the system
    check.run(enter(root, f"cd /home/vlwp; ./vlwp package /home/packages || {{ tail -n 300 {log}; false; }}"))
    for file in (root / "home/packages").glob("*.deb"):
        shutil.copy(file, place)
    names = sorted(file.name.partition("_")[0] for file in place.glob("*.deb") if "-dbgsym_" not in file.name)
    check.want(names == sorted(NAMES), f"there are: {' '.join(names)}")


def _lintian(check: Check, root: Path) -> None:
    """No error and no warning in the packages. The source is QEMU's, most of it."""
    check.run(enter(root, "cd /home/packages; lintian --fail-on error,warning $(ls *.deb | grep -v dbgsym)"))


def _installs(check: Check, root: Path, place: Path) -> None:
    target = root / "home/packages"
    target.mkdir()
    for name in NAMES:
        for file in place.glob(f"{name}_*.deb"):
            shutil.copy(file, target)
    kernel_source = linux_base().source
    headers = f"linux-headers-{kernels_of(root)[-1]}"
    check.run(enter(root, _apt(f"install {headers} {kernel_source} {LIBVIRT}")))
    check.run(enter(root, _apt("install /home/packages/*.deb")))
    for command in ("lwpctl --version", "lwprun --version", f"{EMULATOR} --version"):
        check.run(enter(root, command))
    check.run(enter(root, f"lwpctl caps --qemu={EMULATOR} --accel=tcg"))


HOOK = "/etc/libvirt/hooks/qemu.d/lwp"
# What docs/install.md tells to do on hosts before the first guest runs, with TCG.
PAGE = (
    f"mkdir -p {HOOK.rpartition('/')[0]}; ln -s /usr/libexec/vlwp/libvirt-hook-qemu {HOOK}",
    f"lwpctl caps --json --accel=tcg --qemu={EMULATOR} >/home/HOST-A.json; cp /home/HOST-A.json /home/HOST-B.json",
    "lwpctl baseline --format=libvirt --model=EPYC /home/HOST-A.json /home/HOST-B.json",
    "lwpctl check /home/domain.xml /home/HOST-A.json /home/HOST-B.json",
    f"{HOOK} flat prepare begin - </home/domain.xml",
)


def _page(check: Check, root: Path) -> None:
    """What docs/install.md tells between the packages and the first guest; the hook refuses what no host offers."""
    shutil.copy(DOMAIN, root / "home/domain.xml")
    for command in PAGE:
        check.run(enter(root, command))
    text = DOMAIN.read_text(encoding="utf-8")
    before = "<qemu:commandline>"
    many = text.replace(before, f"{before}<qemu:arg value='-global'/><qemu:arg value='x86_64-cpu.lwp-rev=9'/>")
    (root / "home/many.xml").write_text(many, encoding="utf-8")
    check.want(check.call(enter(root, f"{HOOK} flat prepare begin - </home/many.xml")), "the hook lets it pass")


def _runs_under_libvirt(check: Check, root: Path) -> None:
    """A guest without a disk: the flat test kernel, which says in its serial port whether LWP works."""
    shutil.copy(root / FLAT, root / "home/flat.elf")
    check.run(enter(root, "bash /home/under-libvirt.sh"))


def _removes(check: Check, root: Path) -> None:
    """Nothing of ours is left."""
    check.run(enter(root, _apt(f"purge {' '.join(NAMES)}")))
    places = [root / "usr", root / "lib/modules", root / "var/lib/dkms"]
    left = proc.output(["find", *places, "-name", "*vlwp*", "-o", "-name", "liblwp*", "-o", "-path", "*/dkms/kvm*"])
    check.want(not left.strip(), f"left: {left}")


@pytest.mark.soak
@pytest.mark.parametrize("suite", archive.RELEASES)
def test_packages(suite: str, check: Check, tmp_path: Path) -> None:
    """They build, lintian is content; in another system they install, the commands of docs/install.md work, a guest
    runs under libvirt, the modules load, and they are removed."""
    fresh_root.require("soak packages")
    l1.prepare()
    with fresh_root.fresh_root(suite, TO_BUILD) as root:
        _builds(check, root, tmp_path)
        _lintian(check, root)
    with fresh_root.fresh_root(suite) as root:
        shutil.copy(LAB / "tests/soak/under-libvirt.sh", root / "home")
        _installs(check, root, tmp_path)
        _page(check, root)
        _runs_under_libvirt(check, root)
        if suite == archive.debian_codename():  # whose kernel is that of the lab's guests
            loads(check, root, kernel.version(), linux_base())
        _removes(check, root)
