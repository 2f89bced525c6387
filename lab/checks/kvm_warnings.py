# SPDX-License-Identifier: GPL-2.0-or-later
"""What clang warns of in KVM's part of LWP: svm/lwp*.c, the engine, and the files of KVM that the patches change.

The headers are those of Debian's kernel, which gcc compiled. So the flags are the ones with which the modules were
built, without those of code generation; nothing is linked."""

import re
from pathlib import Path

from lab.common.beside import refused
from lab.common import steps

# Options of code generation are gcc's own in large part. These few change what the sources mean.
MEANING = ("-fshort-wchar", "-funsigned-char", "-m64", "-mcmodel=kernel", "-fcf-protection=branch", "-fms-extensions")
# Kbuild switches these off for clang, or the kernel's own headers cause them.
CLANG_ONLY = (
    "-Wno-duplicate-decl-specifier",
    "-Wno-enum-enum-conversion",
    "-Wno-frame-address",
    "-Wno-gnu",
    "-Wno-microsoft-anon-tag",
    "-Wno-unknown-warning-option",
)
# clang 14 takes the guards in newer kernels' headers for unused variables. gcc looks for those.
GUARDS = "-Wno-unused-variable"
COMMAND = re.compile(r"^savedcmd_\S+ := (.*)$", re.MULTILINE)
OURS = re.compile(r"(^|/)svm/lwp(_\w+\.c|\.c|/\w+\.c)$")
CHANGED = re.compile(r"(^|/)kvm/(svm/(svm|nested|sev|avic)|x86|msrs|regs|cpuid|lapic)\.c$")


def _words(saved: Path) -> list[str]:
    found = COMMAND.search(saved.read_text(encoding="utf-8"))
    return steps.arguments(found[1]) if found else []


def commands(kvm: Path) -> list[list[str]]:
    """What is given to the compiler for our sources below arch/x86/kvm of a tree in which the modules were built."""
    found = [words for saved in sorted(kvm.rglob(".*.o.cmd")) if (words := _words(saved))]
    return [words for words in found if OURS.search(words[-1]) or CHANGED.search(str(kvm / words[-1]))]


def _clang(words: list[str]) -> list[str]:
    rest = [word for word in words if word in MEANING or not word.startswith(("-f", "-m", "-Wp,-MMD", "-pg"))]
    output = rest.index("-o")
    return ["clang", *rest[:output], *rest[output + 2:], *CLANG_ONLY, "-Werror", "-fsyntax-only"]


def problems(kvm: Path, headers: Path) -> list[str]:
    """What clang says, one string for each source that it refuses."""
    found = commands(kvm)
    if not any(OURS.search(words[-1]) for words in found):
        return [f"{kvm}: no source of LWP was compiled here"]
    # Newer kernels compile in the modules' folder.
    return refused(
        (_clang(words), headers) if words[-1].startswith("/") else ([*_clang(words), GUARDS], kvm) for words in found
    )
