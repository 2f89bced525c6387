# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers of a newer Debian's kernel on this machine: kbuild's programs want that Debian's C library, and the
configuration that Debian's compiler. The programs are built again from the kernel's source, and what the compiler here
lacks is not configured."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import IO

from lab.common import proc
from lab.common.steps import compiler, jobs_count, make_dir

PROGRAMS = ("scripts/basic/fixdep", "scripts/mod/modpost", "tools/objtool/objtool", "scripts/genksyms/genksyms")
# What says that a tool can do something. The layout of the kernel's structures does not depend on these.
OF_TOOLS = re.compile(r"^(CONFIG_(?:CC|AS|LD|GCC|TOOLS)_\w+)=", re.MULTILINE)


def runs_here(headers: Path) -> bool:
    """Do the programs that came with the headers find their libraries?"""
    # Some only start the one that is for a machine, NAME.real-MACHINE.
    programs = [file for name in PROGRAMS for file in (headers / name).parent.glob(f"{Path(name).name}*")]
    run = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
    return "not found" not in run.stdout + run.stderr


def _without(file: Path, pattern: str) -> None:
    """Remove lines from a file."""
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(pattern, "", text, flags=re.MULTILINE), encoding="utf-8")


def adapt(headers: Path, source: Path, work: Path, log: IO[str]) -> None:
    """Make the headers' folder one that builds modules here; source: all of the kernel; work: a folder to build in."""
    shutil.rmtree(work, ignore_errors=True)
    make_dir(work)
    shutil.copy(headers / ".config", work)
    make: list[proc.Word] = ["make", "-C", source, f"O={work}", f"HOSTCC={compiler()}", "-j", str(jobs_count())]
    for target in ("olddefconfig", "modules_prepare"):
        if proc.logged([*make, target], log):
            raise OSError(f"{source}: make {target} failed")
    for name in PROGRAMS:
        if (work / name).is_file():  # not all kernels have all of them
            shutil.copy(work / name, (headers / name).resolve())
    there, here = (set(OF_TOOLS.findall((place / ".config").read_text(encoding="utf-8"))) for place in (headers, work))
    for option in sorted(there - here):
        _without(headers / "include/config/auto.conf", rf"^{option}=.*\n")
        _without(headers / "include/generated/autoconf.h", rf"^#define {option} .*\n")
