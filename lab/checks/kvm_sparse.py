# SPDX-License-Identifier: GPL-2.0-or-later
"""What sparse says of svm/lwp*.c and the engine, with the flags with which the modules were built and those of the
kernel's `make C=2`."""

import re
from pathlib import Path

from lab.checks.kvm_warnings import OURS, commands
from lab.common.beside import ended

# sparse 0.6.4 does not know __typeof_unqual__, which newer kernels use.
DEFINED = "-D__linux__ -Dlinux -D__STDC__ -Dunix -D__unix__ -D__typeof_unqual__=__typeof__"
CHECKFLAGS = f"{DEFINED} -Wbitwise -Wno-return-void -Wno-unknown-attribute".split()
MACHINE = "-D__x86_64__ --arch=x86 -mlittle-endian -m64".split()
COMPLAINT = re.compile(r"^(\S+?):(\d+):\d+: (?:warning|error): (.*)$")
# What Linux 7.3 makes of these is too much for sparse 0.6.4.
PARAMETER = re.compile(r"(module_param|MODULE_)")


def _sparse(words: list[str]) -> list[str]:
    rest = [word for word in words if not word.startswith("-Wp,-MMD")]
    output = rest.index("-o")
    return ["sparse", *CHECKFLAGS, *MACHINE, *rest[:output], *rest[output + 2:]]


def _ours(line: str, place: Path) -> bool:
    match = COMPLAINT.match(line)
    if not match or "/svm/lwp" not in f"/{match[1]}":
        return False
    source = (place / match[1]).read_text(encoding="utf-8").splitlines()
    return match[3] != "bad constant expression" or not PARAMETER.match(source[int(match[2]) - 1])


def problems(kvm: Path, headers: Path) -> list[str]:
    """The complaints about our sources; kvm: a tree in which the modules were built."""
    ours = [words for words in commands(kvm) if OURS.search(words[-1])]
    if not ours:
        return [f"{kvm}: no source of LWP was compiled here"]
    # Newer kernels compile in the modules' folder.
    places = [headers if words[-1].startswith("/") else kvm for words in ours]
    said = ended([(_sparse(words), place) for words, place in zip(ours, places)])
    return [line for (_, text), place in zip(said, places) for line in text.splitlines() if _ours(line, place)]
