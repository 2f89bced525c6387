# SPDX-License-Identifier: GPL-2.0-or-later
"""Apply the series to Debian's and to plain upstream sources; compile each step of the one for Linux and of those with
QEMU's new files, and QEMU after each of its own, with some of QEMU's own tests; run sparse, and build the documents.
Ganeti's and Nova's own tests of the patches for them."""

import itertools
import json
import re
import shutil
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.building import linux, meson, qemu_pch, qemu_tree
from lab.building import qemu as emulator
from lab.checks import kvm_sparse
from lab.common import archive, bases, places, proc
from lab.common.places import DL, PYTHON
from lab.common.say import Died
from lab.common.steps import jobs_count, make_dir
from lab.series import checks, docs, library, managers, qemu, selftest
from lab.series import linux as linux_series
from lab.series.tree import Tree, author
from lab.testing import fresh_root
from lab.tests.conftest import good, run

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("series")]
DEBIAN_CHANGES = 20  # patches in Debian's kernel, at least; fewer: they were not found


def _download_changes(version: str, work: Path) -> None:
    """What Debian changes in Linux, of the newest source package up to a version that the archive still has. Debian 12
    builds that of Debian 13 again, as VERSION~deb12uN."""
    series, limit = bases.linux_base().series, version.partition("~")[0]
    if bases.linux_base().suite:
        archive.add_sources(bases.linux_base().suite)
    for known in reversed(archive.source_versions("linux")):
        older = proc.call(["dpkg", "--compare-versions", known, "le", limit]) == 0
        if not known.startswith(f"{series}.") or not older:
            continue
        try:
            print(*archive.source_package(f"linux={known}", "--diff-only"))
        except Died as err:
            print(err)
            continue
        with tarfile.open(DL / f"linux_{known}.debian.tar.xz") as tar:
            tar.extractall(work)
        return
    pytest.skip(f"needs a source package of Linux {series} up to {limit} in the archive")


def series_file(folder: Path) -> list[Path]:
    """The patches that a folder debian/patches applies, in order."""
    lines = (folder / "series").read_text(encoding="utf-8").splitlines()
    return [folder / line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def _changed(patches: list[Path]) -> set[str]:
    return {name for patch in patches for name in qemu_tree.changed_files(patch)}


def _upstream_is_the_same(work: Path) -> None:
    """None of the files that the series changes is one that Debian changes."""
    theirs = series_file(work / "debian/patches")
    print(f"{len(theirs)} patches of Debian")
    assert len(theirs) >= DEBIAN_CHANGES
    both = _changed(theirs) & _changed(linux_series.patches(work / "series"))
    assert not both, f"changed by both: {' '.join(sorted(both))}"


def _debian_qemu(pristine: Path, place: Path) -> None:
    """A copy of QEMU with Debian's own patches, as its source package unpacks. Firmware (roms/) is not in the copy."""
    shutil.copytree(pristine, place, symlinks=True)
    with tarfile.open(max(DL.glob(f"qemu_{bases.qemu_base().series}.*.debian.tar.xz"))) as tar:
        tar.extractall(place)
    for patch in series_file(place / "debian/patches"):
        if all(name.startswith("roms/") for name in qemu_tree.changed_files(patch)):
            continue
        with patch.open("rb") as text:
            good(["patch", "-d", place, "-p1", "-f", "-s", "--no-backup-if-mismatch"], stdin=text)


def _compile_step(tree: Tree, source: linux.Linux, patch: Path, out: Path) -> None:
    """Apply one more patch and build both modules."""
    tree.git("am", "-q", patch)
    good([linux.LAYOUT, "--external", tree.path, out])
    good(linux.make_command(source, out / "tree"))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all series, and what is made of them."""
    place = tmp_path_factory.mktemp("series")
    checks.written(place)
    return place


def test_checkpatch(work: Path) -> None:
    """checkpatch has nothing against the series for Linux and QEMU."""
    checks.checkpatch_linux(work)
    checks.checkpatch_qemu(work)


def test_linux_applies(work: Path) -> None:
    """To Debian's source; and upstream has the same files: Debian changes none of them."""
    source = linux.fetch_series()
    checks.applies(work, linux_series.names(), source.pristine)
    _download_changes(source.version, work)
    _upstream_is_the_same(work)


def _selftest_step(work: Path, source: linux.Linux, steps: Path, external: Path) -> None:
    """The selftest as it is after a step passes with the step's modules."""
    place = work / "step"
    shutil.rmtree(place / selftest.WHOLE, ignore_errors=True)
    selftest.overlay(linux.fetch_all(source), steps, place / selftest.WHOLE)
    linux.strip_modules(external / "tree", place)
    selftest.compiles(place)
    selftest.passes(place, modules=place)


def test_linux_steps(work: Path) -> None:
    """It compiles after each patch, and shows by the selftest what it does; without CONFIG_KVM_AMD_LWP nothing of it is
    in kvm-amd."""
    source, steps, external = linux.fetch_series(), work / "steps", work / "external"
    shutil.copytree(source.pristine, steps, symlinks=True)
    tree = Tree(steps, author(), sys.stdout)
    for patch in linux_series.patches(work / "series"):
        print(patch.name)
        _compile_step(tree, source, patch, external)
        if (linux.selftest_folder(steps) / f"{selftest.NAME}.c").is_file():
            _selftest_step(work, source, steps, external)
        else:
            [module] = external.rglob("kvm-amd.ko")
            symbols = proc.output(["nm", module])
            assert "svm_vcpu_run" in symbols and "lwp" not in symbols, "kvm-amd names LWP without its option"


def test_qemu_applies(work: Path) -> None:
    """To upstream, and to Debian's source, whose patches apply to upstream."""
    pristine, debian = qemu_tree.fetch(), work / "qemu-debian"
    checks.applies(work, qemu.names(), pristine)
    _debian_qemu(pristine, debian)
    checks.applies(work, qemu.names(), debian)


def test_sparse() -> None:
    """sparse has nothing against KVM's part of LWP. smatch, which knows more, is not in the archive."""
    linux.build()
    assert kvm_sparse.problems(places.KVM / "tree/arch/x86/kvm", linux.fetch().headers_dir) == []


def test_docs(work: Path) -> None:
    """make htmldocs has no new warning with the series for Linux, Sphinx has nothing against QEMU's page of LWP."""
    docs.of_linux(work)
    docs.of_qemu(work)


# Of QEMU's own, that are fast and need no other device than a build here has.
QTESTS = ("cpu-plug-test", "qmp-cmd-test", "qom-test", "pmu-test", "lwp-test")


# Of these series each patch is compiled, and has few new lines.
STEPPED, MOST = ("qemu-2-pmu", "qemu-3-lwp"), 500
# The first of stepping has all that who counts must know; the first counter all that a CPU needs for it.
LONGER = ("-step-instructions-that-are-counted.patch", "-tcg-AMD-s-performance-counters.patch")


def _qemu_steps(work: Path, name: str) -> Iterator[list[Path]]:
    """The patches of a series that are compiled together."""
    patches = checks.patches_in(work / "series" / name)
    yield from ([patch] for patch in patches) if name in STEPPED else [patches]


def _check_size(tree: Tree, patch: Path) -> None:
    """Can a reviewer read it at once?"""
    added = sum(int(line.split()[0]) for line in tree.git("diff", "--numstat", "HEAD^").splitlines())
    assert added <= MOST or patch.name.endswith(LONGER), f"{patch.name} adds {added} lines, more than {MOST}"


def _touched(out: Path, tree: Tree, patches: int) -> Iterator[str]:
    """The objects of all sources that the last patches change, and of some that include another changed file."""
    names = set(tree.git("diff", "--name-only", f"HEAD~{patches}").splitlines())
    sources = [*tree.path.glob("target/i386/**/*.c"), *tree.path.glob("accel/**/*.c")]
    for name in [Path(name).name for name in names if name.endswith((".h", ".inc"))]:
        users = (path for path in sources if f'{name}"' in path.read_text(encoding="utf-8"))
        names |= {str(path.relative_to(tree.path)) for path in itertools.islice(users, 3)}
    for entry in json.loads((out / "compile_commands.json").read_text(encoding="utf-8")):
        source = (out / entry["file"]).resolve()
        if source.is_relative_to(tree.path) and str(source.relative_to(tree.path)) in names:
            yield entry["output"]


def _qemu_step(tree: Tree, out: Path, patches: list[Path], cc: str) -> None:
    """Apply patches. gcc compiles all, and QEMU passes fast tests of its own; clang compiles what has been touched."""
    tree.git("am", "-q", *patches)
    if not meson.configured(out):
        make_dir(out)
        fast = f"--extra-cflags={qemu_pch.FLAGS}" if cc == "gcc" else "-Doptimization=0"
        options = [f"--cc={cc}", f"--python={PYTHON}", fast, "--disable-debug-info", *emulator.CONFIGURE]
        good([tree.path / "configure", *options], cwd=out)
    if (tree.path / library.WRAP).is_file():
        good([out / "pyvenv/bin/meson", "subprojects", "download", library.NAME], cwd=tree.path)
    ninja = proc.words(["nice", "-n", "10", "ninja", "-C", out, "-j", str(jobs_count())])
    good([*ninja, "build.ninja"])  # there may be new tests
    if cc != "gcc":
        good([*ninja, "build.ninja", *_touched(out, tree, len(patches))])
        return
    good([*ninja, "config-poison.h"])
    qemu_pch.refresh(out, tree.path)
    known = proc.output(["ninja", "-C", out, "-t", "targets", "all"])
    tests = [test for test in QTESTS if f"tests/qtest/{test}: " in known]
    good([*ninja, "qemu-system-x86_64", *(f"tests/qtest/{test}" for test in tests)])
    emulator.bundle_firmware(out)
    words = ["pyvenv/bin/meson", "test", "--no-rebuild", "--print-errorlogs"]
    good([*words, *(f"qtest-x86_64/{test}" for test in tests)], cwd=out)


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_qemu_steps(work: Path, cc: str) -> None:
    """QEMU compiles and passes its own tests after each set of fixes, and after each patch of the other series."""
    pristine = qemu_tree.fetch()
    emulator.build()  # for its firmware
    meson.fetch()
    tree_of, configs = work / f"qemu-steps-{cc}", qemu_tree.PATCHES / "configs"
    shutil.copytree(pristine, tree_of, symlinks=True)
    shutil.copytree(configs, tree_of / "configs/devices/x86_64-softmmu", dirs_exist_ok=True)
    for patch in qemu_tree.patches("base"):
        with patch.open("rb") as text:
            proc.logged(["patch", "-d", tree_of, "-p1", "--force"], sys.stdout, stdin=text)
    tree = Tree(tree_of, author(), sys.stdout)
    for name in qemu.names():
        for patches in _qemu_steps(work, name):
            _qemu_step(tree, work / f"qemu-out-{cc}", patches, cc)
            if name in STEPPED:
                _check_size(tree, *patches)


# What is installed, and the command that runs the touched unit tests within the source. Ganeti's Haskell writes some of
# its Python; the package has that.
OWN_TESTS = {
    "ganeti": (("ganeti",), "cp -rn /usr/share/ganeti/3.1/ganeti/. lib; ln -sfn lib ganeti; bad=; "
               "for it in cmdlib/instance_migration ganeti.hypervisor.hv_kvm; "
               "do PYTHONPATH=.:test/py/legacy python3 test/py/legacy/${it}_unittest.py || bad=1; done; [ ! $bad ]"),
    "nova": (("python3-nova", "python3-ddt", "python3-oslotest", "python3-requests-mock", "python3-wsgi-intercept"),
             "python3 -m unittest -k live_migration nova.tests.unit.virt.libvirt.test_driver"),
}


@pytest.mark.parametrize("name", managers.VERSIONS)
def test_managers(tmp_path: Path, name: str) -> None:
    """A manager's patch applies to its source; the unit tests that it brings fail without its code, and pass."""
    fresh_root.require("soak series")
    managers.write(tmp_path, author())
    [patch] = checks.patches_in(tmp_path / name)
    new = re.findall(r"^\+ *def (test\w+)", patch.read_text(encoding="utf-8"), re.MULTILINE)
    packages, command = OWN_TESTS[name]
    with fresh_root.fresh_root("trixie", packages) as root:
        source, words = root / "home/source", fresh_root.enter(root, f"cd /home/source; {command}")
        archive.unpack(archive.upstream_tarball(name, managers.VERSIONS[name]), source)
        tree = Tree(source, author(), sys.stdout)
        tree.git("am", patch)
        changed = tree.git("diff", "--name-only", "base", "--", "*.py").splitlines()
        tree.git("checkout", "base", "--", *(one for one in changed if "test" not in one))
        failed = re.findall(r"^(?:ERROR|FAIL): (\w+)", run(words).said, re.MULTILINE)
        assert sorted(failed) == sorted(new)
        tree.git("checkout", "series", "--", ".")
        good(words)
