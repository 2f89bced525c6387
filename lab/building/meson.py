# SPDX-License-Identifier: GPL-2.0-or-later
"""Meson and Ninja: the tools that QEMU's build needs and Debian 12 does not have, and build directories
of this repository."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.common import archive, bases, proc
from lab.common.places import BUILD, TOP
from lab.common.steps import compiler, jobs_count, stamp, stamped, step

TOOLS = BUILD / "tools"


def fetch() -> None:
    """What QEMU's build needs and this Debian does not have: meson >= 1.5, which Debian 12 has in its backports, and
    what the base names. Unpack it into build/tools and put it in front of PATH."""
    if not archive.is_debian():
        return  # it is in PATH
    base = bases.qemu_base()
    wanted = dict.fromkeys(base.tools, base.suite)
    if archive.debian_codename() == "bookworm":
        wanted |= dict.fromkeys(("meson", "python3-pycotap"), "bookworm-backports")
    if not wanted:
        return
    for name, suite in wanted.items():
        if not stamped(f"tool-{name}"):
            archive.add_binaries(suite)
            file = archive.package(f"{name}/{suite}")
            proc.output(["dpkg", "-x", file, TOOLS])
            stamp(f"tool-{name}", file.name)
    path = str(TOOLS / "usr/bin")
    if not os.environ["PATH"].startswith(path):
        os.environ["PATH"] = f"{path}:{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(TOOLS / "usr/lib/python3/dist-packages")


def configured(out: Path) -> bool:
    """Is this a build directory, whose compiler is there, and not the copy of one, which names its old place?"""
    try:
        info = json.loads((out / "meson-info/meson-info.json").read_text(encoding="utf-8"))
        tools = json.loads((out / "meson-info/intro-compilers.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    there = shutil.which(tools["host"]["c"]["exelist"][0]) and (out / "build.ninja").is_file()
    return bool(there and Path(info["directories"]["build"]).resolve() == out.resolve())


def setup(out: Path, options: Sequence[str], cc: str = "gcc") -> list[str]:
    """The command that configures a build directory of this repository."""
    return ["env", f"CC={compiler(cc)}", "meson", "setup", *options, str(out), str(TOP)]


def ninja(out: Path, *targets: str) -> list[str]:
    """The command that compiles; without targets, everything."""
    return ["ninja", "-C", str(out), "-j", str(jobs_count()), *targets]


def up_to_date(out: Path, *targets: str) -> bool:
    """Has Ninja nothing to do?"""
    argv = ["ninja", "-C", str(out), "-n", *targets]
    run = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return "no work to do" in run.stdout


def _log(name: str) -> str:
    return name.replace(" ", "-").replace("'", "")


def configure(out: Path, name: str, options: Sequence[str], cc: str = "gcc") -> None:
    """Configure a build directory once."""
    if not configured(out):
        if out.exists():
            shutil.rmtree(out)
        step(f"configuring {name}", f"{_log(name)}-configure", setup(out, options, cc), about=15)


def build(out: Path, name: str, options: Sequence[str], *targets: str, about: int = 0, cc: str = "gcc") -> None:
    """Configure a build directory once and compile what is out of date; name is for messages and logs."""
    configure(out, name, options, cc)
    if not up_to_date(out, *targets):
        step(f"compiling {name}", f"{_log(name)}-compile", ninja(out, *targets), about=about)
