# SPDX-License-Identifier: GPL-2.0-or-later
"""The patched QEMU configured in other ways: they have to compile and to link. They have a tree of their own, because
gcc would take the precompiled headers in that of the build that is used, which have its configuration inside."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.building import meson, qemu, qemu_tree
from lab.common import bases, proc
from lab.common.places import BUILD, PYTHON
from lab.common.steps import build_lock, compiler, fresh, hash_of, jobs_count, make_dir, stamp, step

FLAVOUR = "other"
Run = Callable[[Sequence[proc.Word]], object]  # a command that must succeed


@dataclass(frozen=True)
class Other:
    """A way to configure QEMU: what is left out of qemu.CONFIGURE, what is added, and the program."""

    name: str
    line: str
    without: tuple[str, ...]
    options: tuple[str, ...]
    program: str
    cc: str = "gcc"

    @property
    def out(self) -> Path:
        """Its build directory."""
        return BUILD / bases.of_qemu(f"qemu-other-{self.name}")


X86_64 = "--target-list=x86_64-softmmu"

NO_TCG = Other(
    "no-tcg", "QEMU without TCG, with KVM", ("--enable-tcg", "--enable-plugins"), ("--disable-tcg",),
    "qemu-system-x86_64",
)
I386 = Other(
    "i386", "qemu-system-i386", (X86_64, "--with-devices-x86_64=vlwp"),
    ("--target-list=i386-softmmu", "--with-devices-i386=vlwp"), "qemu-system-i386",
)
USER = Other(
    "user", "qemu-x86_64, for programs",
    (X86_64, *qemu.FEW_DEVICES, "--enable-system", "--disable-user", "--enable-kvm", "--enable-virtfs"),
    ("--target-list=x86_64-linux-user", "--enable-user", "--disable-system"), "qemu-x86_64",
)
CLANG = Other("clang", "QEMU by clang", (), (), "qemu-system-x86_64", "clang")
# Undefined behaviour ends the program, as a wrong address does.
ASAN = Other(
    "asan", "QEMU with ASan and UBSan", (),
    ("--enable-asan", "--enable-ubsan", "--extra-cflags=-fno-sanitize-recover=undefined"), "qemu-system-x86_64",
)
# The runtime of TSan does not see __longjmp_chk(), which _FORTIFY_SOURCE makes of siglongjmp().
TSAN = Other(
    "tsan", "QEMU with TSan", (), ("--enable-tsan", "--extra-cflags=-g1 -D_FORTIFY_SOURCE=0"), "qemu-system-x86_64",
)
ALL = (NO_TCG, I386, USER, CLANG, ASAN, TSAN)


def _command(other: Other) -> list[str]:
    words = [word for word in qemu.CONFIGURE if word not in other.without]
    tools = [f"--cc={compiler(other.cc)}", f"--python={PYTHON}", "--disable-debug-info"]
    return [str(qemu.tree_dir(FLAVOUR) / "configure"), *tools, *words, *other.options]


def configure(other: Other) -> None:
    """Make its build directory, if it is out of date."""
    meson.fetch()
    make_dir(other.out)
    tree = qemu.tree_dir(FLAVOUR)
    with build_lock(tree.name):
        sources = hash_of("lab/building/qemu_tree.py", "lab/bases.toml", "vmcb", "kvm/engine", "qemu-patches")
        if not fresh(tree.name, sources) or not tree.is_dir():
            qemu_tree.sync(FLAVOUR, qemu_tree.fetch(), tree)
            stamp(tree.name, sources)
    key = hash_of("lab/building/qemu.py", "lab/building/qemu_other.py", "qemu-patches/packaging")
    configured = bases.of_qemu(f"configure-other-{other.name}")
    if not fresh(configured, key) or not meson.configured(other.out):
        step(f"configuring {other.line}", f"{other.out.name}-configure", _command(other), about=25, cwd=other.out)
        stamp(configured, key)


def link(other: Other, run: Run) -> Path:
    """Compile and link its program."""
    configure(other)
    with build_lock(other.out.name):
        ninja: list[proc.Word] = ["nice", "-n", "10", "ninja", "-C", other.out, "-j", str(jobs_count())]
        run([*ninja, other.program])
    return other.out / other.program
