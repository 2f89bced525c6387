# SPDX-License-Identifier: GPL-2.0-or-later
"""The patched libvirt: its series applies to the archive's source, libvirt's own tests pass, and hosts that have it
stand beside hosts with this machine's libvirt. And the unpatched libvirt of another Debian suite, from a root of its
own: what ./vlwp test libvirt runs."""

import sys
import tarfile
from pathlib import Path

import pytest

from lab.building import libvirt, meson, qemu_tree
from lab.building.libvirt import Libvirt
from lab.common import places, proc
from lab.common.places import DL
from lab.common.steps import jobs_count
from lab.series import checks, libvirt as series
from lab.series.export import copy_touched
from lab.series.tree import Tree, author
from lab.testing import fresh_root
from lab.tests.conftest import good
from lab.tests.pytest_part import PARTS, PYTEST
from lab.tests.soak.test_series import series_file

pytestmark = [pytest.mark.soak, pytest.mark.unpatched]  # hosts without LWP are among them
patched = pytest.mark.parametrize("one", [pytest.param(one, id=one.series) for one in libvirt.known()])
# Debian's, and what is installed of them in a root of its own. QEMU and lwpctl are built here.
SUITES = ("trixie", "forky", "sid")
IN_ROOT = (
    *("libvirt-daemon", "libvirt-daemon-driver-qemu", "libvirt-clients"),
    *("libfdt1", "libattr1", "libcap-ng0", "libjson-c5"),
)


@patched
def test_applies(tmp_path: Path, one: Libvirt) -> None:
    """What ./vlwp export writes makes what is built here of the files that it touches."""
    libvirt.build(one)
    series.write(tmp_path / one.name, author())
    patches = checks.patches_in(tmp_path / one.name / one.name)
    place, pristine = tmp_path / f"tree-{one.name}", libvirt.fetch(one)
    copy_touched(pristine, patches, place)
    tree = Tree(place, author(), sys.stdout)
    tree.git("am", *patches)
    files = [file.relative_to(place) for file in place.rglob("*") if file.is_file() and ".git" not in file.parts]
    differ = [str(name) for name in files if (place / name).read_bytes() != (one.tree / name).read_bytes()]
    assert files and not differ


@patched
def test_own_tests(one: Libvirt) -> None:
    """libvirt's own pass."""
    libvirt.build(one)
    meson.fetch()
    words = ["--no-rebuild", "--print-errorlogs", "--num-processes", str(jobs_count()), "--timeout-multiplier", "10"]
    good(["nice", "-n", "10", "meson", "test", "-C", one.out, *words, *libvirt.tests(one)])


@patched
def test_debian(tmp_path: Path, one: Libvirt) -> None:
    """On top of Debian's own patches, with offsets and without fuzz."""
    pristine, place = libvirt.fetch(one), tmp_path / f"debian-{one.name}"
    place.mkdir()
    with tarfile.open(max(DL.glob(f"libvirt_{one.series}.*.debian.tar.xz"))) as tar:
        tar.extractall(place)
    theirs = series_file(place / "debian/patches")
    assert theirs
    copy_touched(pristine, [*theirs, *one.patches()], place)
    for patch in theirs:
        with patch.open("rb") as text:
            good(["patch", "-d", place, "-p1", "-f", "-s", "--no-backup-if-mismatch"], stdin=text)
    qemu_tree.apply(one.patches(), pristine, place, sys.stdout)


def _hosts(*words: str) -> None:
    """The tests with hosts; words are pytest's."""
    PARTS["libvirt"].prepare()
    workers = ["-n", str(jobs_count()), "--dist=loadgroup"]
    print(good([*PYTEST, PARTS["libvirt"].where[0], *workers, *words], cwd=places.TOP))


@patched
def test_patched(one: Libvirt) -> None:
    """Hosts that have it, beside hosts with this machine's libvirt where that is an unpatched one of its version."""
    libvirt.build(one)
    beside = () if one == libvirt.own() else ("-k", "not unpatched")
    _hosts("-m", "soak", f"--patched={one.series}", *beside)


@pytest.mark.parametrize("suite", SUITES)
def test_unpatched(suite: str) -> None:
    """What ./vlwp test libvirt runs, with the libvirt of a suite."""
    fresh_root.require("soak libvirt")
    PARTS["libvirt"].prepare()
    with fresh_root.fresh_root(suite, IN_ROOT) as root:
        proc.output(fresh_root.enter(root, "useradd --uid 1000 tester"))  # as whom start-host.sh runs it
        fresh_root.add_libraries(root, places.qemu(), places.qemu_base())
        _hosts("-m", "not soak", f"--root={root}")
