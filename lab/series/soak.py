# SPDX-License-Identifier: GPL-2.0-or-later
"""Apply the series to Debian's and to plain upstream sources; compile each step of the one for Linux, and QEMU behind
each of its three, with some of QEMU's own tests; run sparse, and build the documents."""

import argparse
import re
import shutil
import tarfile
from pathlib import Path
from typing import IO

from lab.building import linux, meson, qemu_tree
from lab.building import qemu as emulator
from lab.checks import kvm_sparse
from lab.common import archive, bases, places, proc
from lab.common.places import DL, PYTHON
from lab.common.report import Check, Report
from lab.common.say import Died, Skip
from lab.common.steps import compiler, jobs_count, make_dir, step
from lab.guest.vm import run_directory
from lab.series import checks, docs, qemu
from lab.series.tree import Tree, author
from lab.start import deps

DEBIAN_CHANGES = 20  # patches in Debian's kernel, at least; fewer: they were not found


TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    what = "qemu-steps: compile QEMU behind each of its series; sparse; docs: build the documents"
    parser.add_argument("--only", choices=("qemu-steps", "sparse", "docs"), help=f"nothing else than this ({what})")


def _download_changes(version: str, work: Path, log: IO[str]) -> None:
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
            print(*archive.source_package(f"linux={known}", "--diff-only"), file=log)
        except Died as err:
            print(err, file=log)
            continue
        with tarfile.open(DL / f"linux_{known}.debian.tar.xz") as tar:
            tar.extractall(work)
        return
    raise Skip(f"the archive has no source package of Linux {series} up to {limit}")


def series_file(folder: Path) -> list[Path]:
    """The patches that a folder debian/patches applies, in order."""
    lines = (folder / "series").read_text(encoding="utf-8").splitlines()
    return [folder / line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def _changed(patches: list[Path]) -> set[str]:
    return {name for patch in patches for name in qemu_tree.changed_files(patch)}


def _upstream_is_the_same(check: Check, work: Path) -> None:
    """None of the files that the series changes is one that Debian changes."""
    theirs = series_file(work / "debian/patches")
    check.say(f"{len(theirs)} patches of Debian")
    check.want(len(theirs) >= DEBIAN_CHANGES, "too few")
    both = _changed(theirs) & _changed(checks.patches_in(check.work / "series/linux"))
    check.want(not both, f"changed by both: {' '.join(sorted(both))}")


def _debian_qemu(check: Check, pristine: Path, place: Path) -> None:
    """A copy of QEMU with Debian's own patches, as its source package unpacks. Firmware (roms/) is not in the copy."""
    shutil.copytree(pristine, place, symlinks=True)
    with tarfile.open(max(DL.glob(f"qemu_{bases.qemu_base().series}.*.debian.tar.xz"))) as tar:
        tar.extractall(place)
    for patch in series_file(place / "debian/patches"):
        if all(name.startswith("roms/") for name in qemu_tree.changed_files(patch)):
            continue
        with patch.open("rb") as text:
            check.run(["patch", "-d", place, "-p1", "-f", "-s", "--no-backup-if-mismatch"], stdin=text)


def _compile_step(check: Check, tree: Tree, source: linux.Linux, patch: Path, out: Path) -> None:
    """Apply one more patch and build both modules."""
    tree.git("am", "-q", patch)
    if check.call([linux.LAYOUT, "--external", tree.path, out]):
        check.want(False, "the tree cannot be laid out")
    check.run(linux.make_command(source, out / "tree"))


def main(args: argparse.Namespace) -> int:
    """The command."""
    deps.ensure()
    if args.only:
        return _only(args.only)
    source, pristine = linux.fetch_series(), qemu_tree.fetch()
    with run_directory("vlwp-series") as work:
        report = Report(work)
        report.check("all series are written", checks.written)
        report.check("checkpatch has nothing against the series for Linux", checks.checkpatch_linux)
        report.check("checkpatch has nothing against the series for QEMU", checks.checkpatch_qemu)
        name = f"the series for Linux applies to {bases.linux_base().source} {source.version}"
        report.check(name, checks.applies, ["linux"], source.pristine)
        upstream = re.split(r"[-~]", source.version)[0]
        name = f"upstream {upstream} has the same files: Debian changes none of them"
        title = "downloading Debian's changes to Linux"
        try:
            step(title, "linux-patches", lambda log: _download_changes(source.version, work, log))
            report.check(name, _upstream_is_the_same, work)
        except Skip as err:
            report.skip(f"{name}: {err}")
        _compile_steps(report, source, work)
        version = pristine.name.rpartition("-")[2]
        report.check(f"the series for QEMU apply to upstream {version}", checks.applies, qemu.names(), pristine)
        debian = work / "qemu-debian"
        report.check(f"Debian's patches apply to QEMU {version}", _debian_qemu, pristine, debian)
        report.check("the series for QEMU apply to Debian's source", checks.applies, qemu.names(), debian)
        _qemu_steps(report, pristine, work)
        _sparse(report)
        _docs(report)
        return report.end()


def _compile_steps(report: Report, source: linux.Linux, work: Path) -> None:
    shutil.copytree(source.pristine, work / "steps", symlinks=True)
    with (work / "git-log").open("w", encoding="utf-8") as log:
        tree = Tree(work / "steps", author(), log)
        for patch in checks.patches_in(work / "series/linux"):
            report.check(f"compiles: {patch.name}", _compile_step, tree, source, patch, work / "external")


def _only(what: str) -> int:
    with run_directory("vlwp-series") as work:
        report = Report(work)
        if what == "sparse":
            _sparse(report)
            return report.end()
        report.check("all series are written", checks.written)
        if what == "docs":
            _docs(report)
        else:
            _qemu_steps(report, qemu_tree.fetch(), work)
        return report.end()


def _sparse(report: Report) -> None:
    """smatch, which knows more, is not in the archive."""
    linux.build()
    tree, headers = places.KVM / "tree/arch/x86/kvm", linux.fetch().headers_dir
    report.check("sparse has nothing against KVM's part of LWP", lambda check: _none(check, tree, headers))


def _none(check: Check, tree: Path, headers: Path) -> None:
    found = kvm_sparse.problems(tree, headers)
    check.want(not found, "\n".join(found))


def _docs(report: Report) -> None:
    report.check("make htmldocs has no new warning with the series for Linux", docs.of_linux)
    report.check("Sphinx has nothing against QEMU's page of LWP", docs.of_qemu)


# Of QEMU's own, that are fast and need no other device than a build here has.
QTESTS = ("cpu-plug-test", "qmp-cmd-test", "qom-test", "lwp-test")


def _qemu_step(check: Check, tree: Tree, out: Path, name: str) -> None:
    """Apply one more series, compile, and make fast tests of QEMU's own."""
    tree.git("am", "-q", *checks.patches_in(check.work / "series" / name))
    if not meson.configured(out):
        make_dir(out)
        options = [f"--cc={compiler()}", f"--python={PYTHON}", "--disable-debug-info", *emulator.CONFIGURE]
        check.run([tree.path / "configure", *options], cwd=out)
    ninja = proc.words(["nice", "-n", "10", "ninja", "-C", out, "-j", str(jobs_count())])
    check.run([*ninja, "build.ninja"])  # there may be new tests
    check.run([*ninja, "qemu-system-x86_64", *(f"tests/qtest/{test}" for test in _qtests(out))])
    emulator.bundle_firmware(out)
    tests = [f"qtest-x86_64/{test}" for test in _qtests(out)]
    check.run(["pyvenv/bin/meson", "test", "--no-rebuild", "--print-errorlogs", *tests], cwd=out)


def _qtests(out: Path) -> list[str]:
    """The tests that this QEMU has."""
    known = proc.output(["ninja", "-C", out, "-t", "targets", "all"])
    return [test for test in QTESTS if f"tests/qtest/{test}: " in known]


def _qemu_steps(report: Report, pristine: Path, work: Path) -> None:
    emulator.build()  # for its firmware
    meson.fetch()
    tree_of, configs = work / "qemu-steps", qemu_tree.PATCHES / "configs"
    shutil.copytree(pristine, tree_of, symlinks=True)
    shutil.copytree(configs, tree_of / "configs/devices/x86_64-softmmu", dirs_exist_ok=True)
    with (work / "git-log-qemu").open("w", encoding="utf-8") as log:
        for patch in qemu_tree.patches("base"):
            with patch.open("rb") as text:
                proc.logged(["patch", "-d", tree_of, "-p1", "--force"], log, stdin=text)
        tree = Tree(tree_of, author(), log)
        for name in qemu.names():
            line = f"QEMU with {name} and what is before it compiles and passes its own tests"
            report.check(line, _qemu_step, tree, work / "qemu-out", name)
