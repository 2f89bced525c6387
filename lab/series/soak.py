# SPDX-License-Identifier: GPL-2.0-or-later
"""Apply both series to Debian's and to plain upstream sources; compile each step of the one for Linux."""

import argparse
import re
import shutil
import tarfile
from pathlib import Path
from typing import IO

from lab.building import linux, qemu_tree
from lab.common import archive, bases, proc
from lab.common.places import DL
from lab.common.report import Check, Report
from lab.common.say import Died
from lab.common.steps import step
from lab.guest.vm import run_directory
from lab.series import checks
from lab.series.tree import Tree, author
from lab.start import deps

DEBIAN_CHANGES = 20  # patches in Debian's kernel, at least; fewer: they were not found


def add_options(parser: argparse.ArgumentParser) -> None:
    """It has none."""
    del parser


def _download_changes(version: str, work: Path, log: IO[str]) -> None:
    """What Debian changes in Linux, of the newest source package up to a version that the archive still has. Debian 12
    builds that of Debian 13 again, as VERSION~deb12uN."""
    series, limit = bases.linux_base().series, version.partition("~")[0]
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
    raise Died(f"the archive has no source package of Linux {series} up to {limit}")


def _series_file(folder: Path) -> list[Path]:
    """The patches that a folder debian/patches applies, in order."""
    lines = (folder / "series").read_text(encoding="utf-8").splitlines()
    return [folder / line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def _changed(patches: list[Path]) -> set[str]:
    return {name for patch in patches for name in qemu_tree.changed_files(patch)}


def _upstream_is_the_same(check: Check, work: Path) -> None:
    """None of the files that the series changes is one that Debian changes."""
    theirs = _series_file(work / "debian/patches")
    check.say(f"{len(theirs)} patches of Debian")
    check.want(len(theirs) >= DEBIAN_CHANGES, "too few")
    both = _changed(theirs) & _changed(checks.patches_in(check.work / "series/linux"))
    check.want(not both, f"changed by both: {' '.join(sorted(both))}")


def _debian_qemu(check: Check, pristine: Path, place: Path) -> None:
    """A copy of QEMU with Debian's own patches, as its source package unpacks."""
    shutil.copytree(pristine, place, symlinks=True)
    with tarfile.open(next(iter(DL.glob("qemu_*.debian.tar.xz")))) as tar:
        tar.extractall(place)
    for patch in _series_file(place / "debian/patches"):
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
    del args
    deps.ensure()
    source, emulator = linux.fetch(), qemu_tree.fetch()
    with run_directory("vlwp-series") as work:
        report = Report(work)
        report.check("both series are written", checks.written)
        name = f"the series for Linux applies to {bases.linux_base().source} {source.version}"
        report.check(name, checks.applies, "linux", source.pristine)
        title = "downloading Debian's changes to Linux"
        step(title, "linux-patches", lambda log: _download_changes(source.version, work, log))
        upstream = re.split(r"[-~]", source.version)[0]
        name = f"upstream {upstream} has the same files: Debian changes none of them"
        report.check(name, _upstream_is_the_same, work)
        _compile_steps(report, source, work)
        version = emulator.name.rpartition("-")[2]
        report.check(f"the series for QEMU applies to upstream {version}", checks.applies, "qemu", emulator)
        debian = work / "qemu-debian"
        report.check(f"Debian's patches apply to QEMU {version}", _debian_qemu, emulator, debian)
        report.check("the series for QEMU applies to Debian's source", checks.applies, "qemu", debian)
        return report.end()


def _compile_steps(report: Report, source: linux.Linux, work: Path) -> None:
    shutil.copytree(source.pristine, work / "steps", symlinks=True)
    with (work / "git-log").open("w", encoding="utf-8") as log:
        tree = Tree(work / "steps", author(), log)
        for patch in checks.patches_in(work / "series/linux"):
            report.check(f"compiles: {patch.name}", _compile_step, tree, source, patch, work / "external")
