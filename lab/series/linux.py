# SPDX-License-Identifier: GPL-2.0-or-later
"""The series for Linux: new files first, one commit a topic, then the hooks."""

import re
import textwrap

from lab.building.linux import patches_dir
from lab.common.places import TOP
from lab.series import sources
from lab.series.tree import Tree

SVM = "arch/x86/kvm/svm"
MAKEFILE = "arch/x86/kvm/Makefile"
COVER = TOP / "kvm/patches/cover-letter"
WIDTH = 60  # of the objects in a line of the Makefile


def _name_objects(tree: Tree) -> None:
    """Name every file of svm/lwp/ in the Makefile."""
    names = sorted(f"svm/lwp/{file.stem}.o" for file in (tree.path / SVM / "lwp").glob("*.c"))
    lines = textwrap.wrap(" ".join(names), WIDTH, break_long_words=False, break_on_hyphens=False)
    objects = "kvm-amd-y\t\t+= " + " \\\n\t\t\t   ".join(lines) + "\n"
    makefile = tree.path / MAKEFILE
    text = makefile.read_text(encoding="utf-8")
    text = re.sub(r"^kvm-amd-y.*svm/lwp/lwp_(.*\\\n)*.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^.*wildcard.*svm/lwp.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"(kvm-amd-\$\(CONFIG_KVM_HYPERV\)\s*\+= svm/hyperv\.o\n)", lambda m: m[1] + objects, text)
    makefile.write_text(text, encoding="utf-8")


def _glue(tree: Tree, patch_base: str) -> None:
    """The commit that brings the glue: the hooks name the files of svm/lwp/ by a pattern, the series one by one."""
    tree.add_files(SVM, sorted((TOP / "kvm/svm").glob("lwp*.[ch]")))
    _name_objects(tree)
    message = tree.git("log", "-1", "--format=%B")
    path = tree.path / ".git/message"
    path.write_text(message, encoding="utf-8")
    tree.git("add", "-A", "-f", ".")
    tree.git("reset", "-q", "--soft", patch_base)
    tree.git("commit", "-q", "-F", path)


def make(tree: Tree) -> None:
    """The commits on a kernel tree, or on the part of one that the modules need."""
    topics = (
        ("linux-1-data-structures", sources.shared("vmcb")),
        ("linux-2-decoders", sources.decoders()),
        ("linux-3-state-machine", sources.shared("kvm/engine")),
    )
    for message, files in topics:
        tree.add_files(f"{SVM}/lwp", sources.with_headers(files))
        _name_objects(tree)
        tree.commit(message)
    for patch in sorted(patches_dir().glob("*.patch")):
        if "svm/lwp.o" not in patch.read_text(encoding="utf-8"):
            tree.hook(patch)
            continue
        before = tree.git("rev-parse", "HEAD").strip()
        (tree.path / MAKEFILE).write_text(tree.git("show", f"base:{MAKEFILE}"), encoding="utf-8")
        tree.git("commit", "-q", "-a", "-m", "Makefile as before")
        tree.hook(patch)
        _glue(tree, before)
