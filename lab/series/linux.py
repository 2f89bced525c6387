# SPDX-License-Identifier: GPL-2.0-or-later
"""The series for Linux, each on those before it: LWP of threads, in steps and by counters; exact records by counters;
all that LWP has besides. Our files and what the hooks change come in the steps of steps/linux-*.toml (steps.py)."""

import re
import textwrap
from pathlib import Path

from lab.building.linux import compat, hooks, selftest_files, selftest_folder
from lab.common.places import TOP
from lab.common.say import Died
from lab.series import sources
from lab.series.steps import Change, File, read
from lab.series.tree import Tree

SERIES = ("1-marks", "2-counts", "3-exact", "4-whole")
COVERS = TOP / "kvm/patches"
MAKEFILE = "arch/x86/kvm/Makefile"
OBJECTS = r"^kvm-amd-\$\(CONFIG_KVM_AMD_LWP\)(?:.*\\\n)*.*\n"
WIDTH = 50  # of the objects in a line of the Makefile
SOMETIMES = {"svm_lwp_compat.h", "svm/nested.c", "kvm/x86.h"}  # what only some kernels need, or only their hooks change
# How steps call folders of the kernel.
FOLDERS = {
    "lwp": "arch/x86/kvm/svm/lwp", "svm": "arch/x86/kvm/svm", "kvm": "arch/x86/kvm", "asm": "arch/x86/include/asm",
    "uapi": "arch/x86/include/uapi/asm", "doc": "Documentation/virt/kvm", "selftests": "tools/testing/selftests/kvm",
}


def names() -> list[str]:
    """The series, in order, as their folders below DIR are called."""
    return [f"linux-{name}" for name in SERIES]


def _new(tree: Path) -> dict[str, Path]:
    """Our files by the places that they have in a kernel."""
    shared = [*sources.shared("vmcb"), *sources.shared("kvm/engine")]
    found = {f"{FOLDERS['lwp']}/{file.name}": file for file in shared}
    del found[f"{FOLDERS['lwp']}/lwp_kvm.h"]
    found[f"{FOLDERS['uapi']}/kvm_lwp.h"] = TOP / "vmcb/lwp_kvm.h"
    found |= {f"{FOLDERS['svm']}/{file.name}": file for file in [*(TOP / "kvm/svm").glob("lwp*.[ch]"), compat()]}
    return found | {str(selftest_folder(tree).relative_to(tree) / file.name): file for file in selftest_files()}


def _changes(tree: Tree) -> dict[str, tuple[str, str, str]]:
    """What the hooks change: files before and after, and the difference."""
    for patch in [*hooks(), *hooks(1)]:
        tree.hook(patch)
    tree.git("tag", "hooked")
    found = {}
    for name in tree.git("diff", "--name-only", "base", "hooked").splitlines():
        before = tree.git("show", f"base:{name}")
        found[name] = before, tree.git("show", f"hooked:{name}"), tree.git("diff", "-U0", "base", "hooked", "--", name)
    tree.git("reset", "-q", "--hard", "base")
    return found


def _name_objects(tree: Tree) -> None:
    """Name every file of svm/lwp*.c and svm/lwp/ that there is in the Makefile, once it has the option."""
    folder, makefile = tree.path / FOLDERS["kvm"], tree.path / MAKEFILE
    files = [file for pattern in ("svm/lwp*.c", "svm/lwp/*.c") for file in sorted(folder.glob(pattern))]
    names = " ".join(str(file.relative_to(folder).with_suffix(".o")) for file in files)
    lines = textwrap.wrap(names, WIDTH, break_long_words=False, break_on_hyphens=False)
    objects = "kvm-amd-$(CONFIG_KVM_AMD_LWP)\t+= " + " \\\n\t\t\t\t   ".join(lines) + "\n"
    text = makefile.read_text(encoding="utf-8")
    makefile.write_text(re.sub(OBJECTS, lambda _: objects, text, flags=re.MULTILINE), encoding="utf-8")


class Plan:
    """All steps, and the series of each."""

    def __init__(self, tree: Tree):
        steps = [(name, step) for name in names() for step in read(name)]
        self.series, self.steps = [name for name, _ in steps], [step for _, step in steps]
        new, changes = _new(tree.path), _changes(tree)
        short = {self._short(name): name for name in [*new, *changes]}
        begins = {name for step in self.steps for name in step.new}
        begins -= SOMETIMES - short.keys()
        if wrong := sorted(begins - short.keys()):
            raise Died(f"steps of the series for Linux: there is no {' '.join(wrong)}")
        left = sorted(name for name in short if name not in begins and not name.startswith("lwp/"))
        if left:
            raise Died(f"steps of the series for Linux: no step has {' '.join(left)}")
        self.files: dict[str, File] = {}
        for name in begins:
            place = short[name]
            if place in changes:
                before, text, hunks = changes[place]
                self.files[place] = Change(name, before, text, hunks, self.steps)
            else:
                self.files[place] = File(name, new[place].read_text(encoding="utf-8"), self.steps)
            assert self.files[place].at(len(self.steps) - 1) == self.files[place].text, name

    @staticmethod
    def _short(place: str) -> str:
        """As steps call a file: by its folder's name above, those of tests and of nothing else by its own."""
        folder, _, name = place.removesuffix(".kvm").rpartition("/")
        return next((f"{short}/{name}" for short, long in FOLDERS.items() if long == folder), name)

    def write(self, number: int, tree: Tree) -> None:
        """What there is after a step."""
        for place, file in self.files.items():
            text = file.at(number)
            if text is not None:
                (tree.path / place).parent.mkdir(parents=True, exist_ok=True)
                (tree.path / place).write_text(text, encoding="utf-8")
        _name_objects(tree)


def cover(name: str) -> str:
    """The cover letter of a series."""
    return (COVERS / f"cover-letter-{name.partition('-')[2]}").read_text(encoding="utf-8")


def patches(place: Path) -> list[Path]:
    """Those of all series below a folder, in order, without cover letters."""
    return [patch for name in names() for patch in sorted((place / name).glob("*.patch"))[1:]]


def make(tree: Tree, place: Path) -> None:
    """The commits on a kernel tree, or on the part of one that the modules need, and the series below a folder."""
    plan = Plan(tree)
    for name in names():
        tree.git("tag", "-f", "before")
        for number, step in enumerate(plan.steps):
            if plan.series[number] == name and step.message:
                plan.write(number, tree)
                tree.commit(step.message)
        tree.write(cover(name), place / name, "before")
