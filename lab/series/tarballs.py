# SPDX-License-Identifier: GPL-2.0-or-later
"""VLWP_LINUX_TARBALL and VLWP_QEMU_TARBALL: the series apply to an upstream tarball of a newer point release, without
fuzz, and a patch that does not apply is named."""

import os
import re
import shutil
import sys
import tarfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from unittest import mock

import pytest

from lab.building import linux, qemu_tree
from lab.common import bases
from lab.common.places import SRC
from lab.common.say import Died
from lab.series import linux as series
from lab.series.export import copy_touched
from lab.series.tree import Tree, author

NEWER = 999  # the point release that the tarballs claim to be
ADDED = "/* A newer point release has a line more. */\n"


def _pack(tree: Path, tarball: Path) -> None:
    with tarfile.open(tarball, "w") as tar:
        tar.add(tree, arcname=tarball.name.removesuffix(".tar"))


@contextmanager
def _given(variable: str, tarball: Path, unpacked: Path) -> Iterator[None]:
    """The user names a tarball."""
    try:
        with mock.patch.dict(os.environ, {variable: str(tarball)}):
            yield
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def _refused(patch: str) -> AbstractContextManager[object]:
    """Applying the series fails, and the one line names a patch."""
    return pytest.raises(Died, match=rf"\A{re.escape(patch)} does not apply to .*\Z")


def _wants(patch: Path, tree: Path, before: str) -> tuple[str, str] | None:
    """A file and a line of it that a patch must find, and that the patches before do not have."""
    name = ""
    for line in patch.read_text(encoding="utf-8").splitlines():
        if line.startswith("--- "):
            name = line.removeprefix("--- a/").partition("\t")[0]
        elif line.startswith((" ", "-")) and name.endswith(".c") and len(line) > 20 and line[1:] not in before:
            file = tree / name
            if file.is_file() and file.read_text(encoding="utf-8").splitlines().count(line[1:]) == 1:
                return name, line[1:]
    return None


def _spoil(tree: Path, patches: list[Path]) -> str:
    """Change a line that the last patch of C code wants. Result: the patch's name."""
    for n in range(len(patches) - 1, -1, -1):
        before = "".join(patch.read_text(encoding="utf-8") for patch in patches[:n])
        found = _wants(patches[n], tree, before)
        if found:
            file = tree / found[0]
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(f"{found[1]}\n", f"{found[1]} /* changed */\n"), encoding="utf-8")
            return patches[n].name
    raise AssertionError("no patch changes C code")


def _a_line_more(tree: Path, patches: list[Path]) -> None:
    """All hunks of C code apply with an offset, but those at a file's beginning."""
    text = "".join(patch.read_text(encoding="utf-8") for patch in patches)
    for name in sorted({name for patch in patches for name in qemu_tree.changed_files(patch)}):
        file, at_begin = tree / name, rf"^--- a/{re.escape(name)}\n.*\n@@ -1,"
        if file.suffix in (".c", ".h") and file.is_file() and not re.search(at_begin, text, re.MULTILINE):
            file.write_text(ADDED + file.read_text(encoding="utf-8"), encoding="utf-8")


def linux_tarball(work: Path) -> None:
    """KVM's source of a tarball; the headers stay Debian's."""
    pristine = linux.fetch_series().pristine
    version = f"{bases.linux_base().series}.{NEWER}"
    tree, tarball = work / "linux-tree", work / f"linux-{version}.tar"
    shutil.copytree(pristine, tree)
    patches = linux.hooks()
    _a_line_more(tree, patches)
    _pack(tree, tarball)
    with _given(linux.TARBALL, tarball, SRC / f"linux-upstream-{version}"):
        found = linux.fetch()
        assert found.version == version, f"the version is {found.version}"
        linux.lay_out(found, work / "linux-out", sys.stdout)
        text = (work / "linux-out/stage/arch/x86/kvm/lapic.c").read_text(encoding="utf-8")
        assert text.startswith(ADDED), "that is not the tarball's source"
    spoiled = _spoil(tree, patches)
    _pack(tree, tarball)
    with _given(linux.TARBALL, tarball, SRC / f"linux-upstream-{version}"):
        found = linux.fetch()
        with _refused(spoiled):
            linux.lay_out(found, work / "linux-bad", sys.stdout)
    with _refused(spoiled):  # as export does
        series.make(Tree(tree, author(), sys.stdout), work / "linux-series")


def qemu_tarball(work: Path) -> None:
    """QEMU's files that the series change."""
    pristine = qemu_tree.fetch()
    version = f"{bases.qemu_base().series}.{NEWER}"
    tree, tarball = work / "qemu-tree", work / f"qemu-{version}.tar"
    patches = qemu_tree.patches("vlwp")
    copy_touched(pristine, patches, tree)
    shutil.copy(pristine / "VERSION", tree)
    _a_line_more(tree, patches)
    _pack(tree, tarball)
    unpacked = SRC / f"upstream-{version}"
    with _given(qemu_tree.TARBALL, tarball, unpacked):
        stage = work / "qemu-stage"
        qemu_tree.staged("vlwp", qemu_tree.fetch(), stage, sys.stdout)
        text = (stage / "target/i386/cpu.c").read_text(encoding="utf-8")
        assert text.startswith(ADDED), "that is not the tarball's source"
    spoiled = _spoil(tree, patches)
    _pack(tree, tarball)
    with _given(qemu_tree.TARBALL, tarball, unpacked):
        found = qemu_tree.fetch()
        with _refused(spoiled):
            qemu_tree.staged("vlwp", found, work / "qemu-bad", sys.stdout)
