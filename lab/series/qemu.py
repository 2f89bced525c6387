# SPDX-License-Identifier: GPL-2.0-or-later
"""The series for QEMU: fixes of QEMU itself, then the new files, one commit a topic, then the hooks."""

from lab.building.qemu_tree import PATCHES
from lab.series import sources
from lab.series.tree import Tree

LWP = "target/i386/lwp"
PMU = "target/i386/pmu"
COVER = PATCHES / "cover-letter"
FIXES = "0000-"  # how the names of fixes begin that nothing of LWP is needed for


def make(tree: Tree) -> None:
    """The commits on a QEMU tree, or on the files of one that the hooks touch."""
    topics = (
        ("qemu-1-data-structures", LWP, sources.with_headers(sources.in_qemu("vmcb"))),
        ("qemu-2-state-machine", LWP, sources.with_headers(
            sources.in_qemu("kvm/engine") + sources.in_qemu("kvm/engine/tcg"))),
        ("qemu-3-counters", PMU, sorted((PATCHES / PMU).iterdir())),
        ("qemu-4-glue", LWP, sorted((PATCHES / LWP).iterdir())),
    )
    patches = sorted((PATCHES / "patches").glob("*.patch"))
    fixes = [patch for patch in patches if patch.name.startswith(FIXES)]
    for patch in fixes:
        tree.hook(patch)
    for message, place, files in topics:
        tree.add_files(place, files)
        tree.commit(message)
    for patch in patches[len(fixes):]:
        tree.hook(patch)
