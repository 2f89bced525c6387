# SPDX-License-Identifier: GPL-2.0-or-later
"""The series for Linux: new files first, one commit a topic, then the hooks, at the end the selftest."""

import re
import shutil
import textwrap

from lab.building.linux import compat, hooks, selftest_files, selftest_folder
from lab.common.places import TOP
from lab.common.say import Died
from lab.series import sources
from lab.series.tree import Tree

SVM = "arch/x86/kvm/svm"
UAPI = "arch/x86/include/uapi/asm"
MAKEFILE = "arch/x86/kvm/Makefile"
COVER = TOP / "kvm/patches/cover-letter"
WIDTH = 50  # of the objects in a line of the Makefile

# The glue: the message of each commit, and the files of kvm/svm that it brings. The symbol of Kconfig by which they are
# compiled comes after the hooks. A file that is in no row is an error.
GLUE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("linux-5-state", ("lwp_svm.h", "lwp_layers.h", "lwp_compat.h", "lwp_trace.h", "lwp_intercept.c", "lwp_vcpu.c")),
    ("linux-6-instructions", ("lwp_mem.c", "lwp_code.c", "lwp_emul.c")),
    (
        "linux-7-steps",
        ("lwp_mode.c", "lwp_step.c", "lwp_enter.c", "lwp_nets.c", "lwp_next.c", "lwp_adjust.c", "lwp_budget.c"),
    ),
    ("linux-8-return-trap", ("lwp_user_return.c", "lwp_syscall.c")),
    ("linux-9-contexts", ("lwp_switch.c", "lwp_ctx.c", "lwp_collect.c")),
    ("linux-10-counters", ("lwp_source.c", "lwp_cpu.c", "lwp_event.c", "lwp_row.c", "lwp_perf.c")),
    ("linux-11-clocks", ("lwp_clock.c",)),
    ("linux-12-misses", ("lwp_ibs.c",)),
    ("linux-13-nested", ("lwp_nested.c",)),
    ("linux-14-attributes", ("lwp_attr.c",)),
)


def _name_objects(tree: Tree) -> None:
    """Name every file of svm/lwp*.c and svm/lwp/ that there is in the Makefile."""
    svm = tree.path / SVM
    files = [file for pattern in ("lwp*.c", "lwp/*.c") for file in sorted(svm.glob(pattern))]
    names = " ".join(f"{file.relative_to(svm.parent).with_suffix('.o')}" for file in files)
    lines = textwrap.wrap(names, WIDTH, break_long_words=False, break_on_hyphens=False)
    objects = "kvm-amd-$(CONFIG_KVM_AMD_LWP)\t+= " + " \\\n\t\t\t\t   ".join(lines) + "\n"
    makefile = tree.path / MAKEFILE
    text = makefile.read_text(encoding="utf-8")
    text = re.sub(r"^kvm-amd-\$\(CONFIG_KVM_AMD_LWP\)(.*\\\n)*.*\n\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"(kvm-amd-\$\(CONFIG_KVM_HYPERV\)\s*\+= svm/hyperv\.o\n)", lambda m: m[1] + objects, text)
    makefile.write_text(text, encoding="utf-8")


def _glue(tree: Tree) -> None:
    """The commits that bring the files of kvm/svm."""
    files = {file.name: file for file in [*(TOP / "kvm/svm").glob("lwp*.[ch]"), compat()]}
    left = set(files) - {name for _, names in GLUE for name in names}
    if left:
        raise Died(f"lab/series/linux.py: no row of GLUE has {' '.join(sorted(left))}")
    for message, names in GLUE:
        tree.add_files(SVM, [files[name] for name in names if name in files])
        _name_objects(tree)
        tree.commit(message)


def _hooks(tree: Tree) -> None:
    """The hooks. They name the files by a pattern, the series one by one."""
    for patch in hooks():
        text = patch.read_text(encoding="utf-8")
        if f"b/{MAKEFILE}\n" not in text:
            tree.hook(patch)
            continue
        named = (tree.path / MAKEFILE).read_text(encoding="utf-8")
        before = tree.git("rev-parse", "HEAD").strip()
        (tree.path / MAKEFILE).write_text(tree.git("show", f"base:{MAKEFILE}"), encoding="utf-8")
        tree.git("commit", "-q", "-a", "-m", "Makefile as before")
        tree.hook(patch)
        (tree.path / MAKEFILE).write_text(named, encoding="utf-8")
        path = tree.path / ".git/message"
        path.write_text(tree.git("log", "-1", "--format=%B"), encoding="utf-8")
        tree.git("add", "-A", "-f", ".")
        tree.git("reset", "-q", "--soft", before)
        tree.git("commit", "-q", "-F", path)


def _selftests(tree: Tree) -> None:
    """The selftest, with the Makefile's line."""
    for patch in hooks(1):
        tree.hook(patch)
    tree.add_files(str(selftest_folder(tree.path).relative_to(tree.path)), selftest_files())
    tree.amend()


def make(tree: Tree) -> None:
    """The commits on a kernel tree, or on the part of one that the modules need."""
    shared = [file for file in sources.shared("vmcb") if file.name != "lwp_kvm.h"]
    topics = (
        ("linux-1-data-structures", shared),
        ("linux-2-decoders", sources.decoders()),
        ("linux-3-state-machine", sources.shared("kvm/engine")),
    )
    for message, files in topics:
        tree.add_files(f"{SVM}/lwp", sources.with_headers(files))
        _name_objects(tree)
        tree.commit(message)
    uapi = tree.path / UAPI / "kvm_lwp.h"
    uapi.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(TOP / "vmcb/lwp_kvm.h", uapi)
    tree.commit("linux-4-uapi")
    _glue(tree)
    _hooks(tree)
    _selftests(tree)
