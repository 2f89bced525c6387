# SPDX-License-Identifier: GPL-2.0-or-later
"""The release file's tree as a Debian package, for `apt install`. It depends on no other."""

import shutil
from pathlib import Path

from lab.common import proc
from lab.common.places import LAB
from lab.common.steps import make_dir, step
from lab.guest import snapshot

PLACE = Path("usr/lib/vlwp/all")  # beside what other packages of vlwp have
LINKS = {f"usr/bin/{name}": f"../lib/vlwp/all/{name}" for name in ("vlwp", "lwpctl")}
COMPLETION = "usr/share/bash-completion/completions/vlwp"
# dpkg writes no holes, and the memory of a machine has little else.
MEMORY = f"{snapshot.MEMORY}.tar.gz"
SCRIPTS = {
    "postinst": 'tar -C "$place" -xzf "$place/{archive}"',
    "prerm": 'rm -f "$place/{memory}"',
}
SCRIPT = """#!/bin/sh
set -e
place=/{folder}
{line}
"""
CONTROL = """Package: vlwp
Version: {version}
Architecture: amd64
Section: devel
Priority: optional
Installed-Size: {size}
Maintainer: vlwp developers <vlwp@example.org>
Conflicts: vlwp-tools
Description: Lightweight Profiling for virtual machines: profile and count
 vlwp run profiles a program in a virtual machine that has AMD's Lightweight
 Profiling (LWP), vlwp count says how many instructions it executes, the same
 number on each machine. The emulator, the guest's kernel and all libraries are
 in this package: it needs no root, no KVM and no performance counters.
"""


def _memory(tree: Path, pack: list[proc.Word]) -> Path:
    """Put the machine's memory into an archive with holes. Result: where it lies, from the root."""
    (file,) = tree.glob(f"build/{snapshot.PLACE.name}/*/{snapshot.MEMORY}")
    proc.output([*pack, "-C", file.parent, "-czf", file.with_name(MEMORY), file.name])
    file.unlink()
    return PLACE / file.parent.relative_to(tree)


def write(tree: Path, version: str, date: str, pack: list[proc.Word], to: Path) -> None:
    """Make a package of a tree, which is moved. date: of all files, in seconds since 1970. pack: tar, with options that
    make the same bytes of the same files."""
    root = to.with_suffix("")
    (root / PLACE).parent.mkdir(parents=True)
    tree = shutil.move(tree, root / PLACE)
    folder = _memory(tree, pack)
    for name, target in LINKS.items():
        make_dir((root / name).parent)
        (root / name).symlink_to(target)
    make_dir((root / COMPLETION).parent)
    shutil.copyfile(LAB / "completion.bash", root / COMPLETION)
    size = sum(path.lstat().st_size for path in root.rglob("*")) // 1024
    make_dir(root / "DEBIAN")
    (root / "DEBIAN/control").write_text(CONTROL.format(version=version, size=size), encoding="ascii")
    for name, line in SCRIPTS.items():
        text = SCRIPT.format(folder=folder, line=line.format(archive=MEMORY, memory=snapshot.MEMORY))
        (root / "DEBIAN" / name).write_text(text, encoding="ascii")
        (root / "DEBIAN" / name).chmod(0o755)
    proc.output(["chmod", "-R", "u+rw,go+r-w,a+X", root])
    build: list[proc.Word] = ["env", f"SOURCE_DATE_EPOCH={date}", "dpkg-deb", "--root-owner-group", "-Zxz", "--build"]
    step(f"packing {to.name}", "release-package", [*build, root, to], about=100)
    shutil.rmtree(root)
