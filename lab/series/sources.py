# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files of this tree each commit of a series brings."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from lab.common import proc
from lab.common.places import HOST, TOP

SHARED = (TOP / "vmcb", TOP / "kvm/engine", TOP / "kvm/engine/tcg")
INCLUDE = re.compile(r'^#include "(lwp_[a-z_]*\.h)"$', re.MULTILINE)


def with_headers(files: Iterable[Path]) -> list[Path]:
    """Files and the shared headers that they include, directly or not, each once."""
    queue, seen = list(files), []
    while queue:
        file = queue.pop(0)
        if file in seen:
            continue
        seen.append(file)
        for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
            queue += [folder / name for folder in SHARED if (folder / name).is_file()]
    return seen


def shared(folder: str) -> list[Path]:
    """The sources and headers in vmcb or kvm/engine."""
    return sorted((TOP / folder).glob("*_*.[ch]"))


def decoders() -> list[Path]:
    """What the library of decoders is built from, as Meson says."""
    targets = json.loads(proc.output(["meson", "introspect", "--targets", HOST]))
    library = next(target for target in targets if target["name"] == "lwp_decoder")
    return [Path(file) for group in library["target_sources"] for file in group.get("sources", [])]


def in_qemu(folder: Path) -> list[Path]:
    """The shared sources in a folder that QEMU compiles."""
    build = (TOP / "qemu-patches/lwpcore/meson.build").read_text(encoding="utf-8")
    found = [folder / name for name in re.findall(r"'(lwp_\w*\.c)'", build)]
    return [file for file in found if file.is_file()]
