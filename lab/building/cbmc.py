# SPDX-License-Identifier: GPL-2.0-or-later
"""CBMC, the model checker that proves what is in vmcb/proofs and kvm/engine/proofs. Debian 12 has none: on both
releases 13's packages are unpacked into the build folder and run by their own loader."""

import hashlib

from lab.common import archive, proc
from lab.common.places import BUILD
from lab.common.say import Died
from lab.common.steps import build_lock, stamp, stamped

SUITE = "trixie"
# By hash what proves; "": of what it runs with the suite's.
PACKAGES = {
    "cbmc": "02560859a17049c976961c232c4fc58f0747b57f9b751a466b1f368a438b0e41",  # 6.6.0-4
    "minisat": "0b3a870202e022bea8b04d140ded40d9137363566706750b4540518bc0eb63d7",  # 1:2.2.1-8
    "libc6": "", "libgcc-s1": "", "libstdc++6": "", "zlib1g": "",
}
ROOT = BUILD / "cbmc"
LIBRARIES = (ROOT / "usr/lib/x86_64-linux-gnu", ROOT / "usr/lib")


def fetch() -> None:
    """Unpack it once."""
    with build_lock("cbmc"):
        if stamped("cbmc"):
            return
        archive.add_binaries(SUITE)
        for name, digest in PACKAGES.items():
            file = archive.package(f"{name}/{SUITE}")
            if digest and hashlib.sha256(file.read_bytes()).hexdigest() != digest:
                raise Died(f"{file}: another {name} than what vlwp proves with; the proofs are not run with it")
            proc.output(["dpkg", "-x", file, ROOT])
        stamp("cbmc", " ".join(PACKAGES))


def command(tool: str) -> list[proc.Word]:
    """The beginning of a command: cbmc, goto-cc, ..."""
    loader = LIBRARIES[0] / "ld-linux-x86-64.so.2"
    return [loader, "--library-path", ":".join(map(str, LIBRARIES)), ROOT / "usr/bin" / tool]
