# SPDX-License-Identifier: GPL-2.0-or-later
"""The kit: a directory with what tries LWP under KVM on a machine on which nothing is to be installed (kvm/kit)."""

import json
import shutil
from pathlib import Path

from lab.building import deps, linux, tools
from lab.common import bases
from lab.common.places import HOST, KVM_PROGRAMS, TOP
from lab.common.say import Died, Usage
from lab.common.steps import make_dir
from lab.nested.programs import runs

SOURCE = TOP / "kvm/kit"
PROBE = HOST / "host-tools/vlwp-probe"


def make(place: Path, kernel: str) -> None:
    """Fill a new directory for a kernel; what it takes is built."""
    series = bases.base_for(kernel).series
    if series != bases.linux_base().series:
        raise Usage(f"kernel {kernel}: add --base=linux-{series}")
    deps.ensure()
    tools.build()
    modules = linux.build_for(kernel)
    rows = [run.for_kit() for run in runs(series) if run.result != "exits"]
    # Those that count by counters first, what may take the machine with it last, modules as seldom as can be.
    rows.sort(key=lambda row: (row["seeded"], "lwp_source=perf" not in row["kvm_amd"], row["kvm_amd"]))
    make_dir(place, place / "tests")
    try:
        for file in (*SOURCE.glob("*.py"), SOURCE / "README.md", PROBE, *modules.glob("*.ko")):
            shutil.copy(file, place)
        (place / "run.py").rename(place / "run")
        for program in sorted({row["command"][0] for row in rows}):
            shutil.copy(KVM_PROGRAMS / program, place / "tests")
        texts = {"rows.json": json.dumps(rows, indent=1), "kernel": kernel, "version": (TOP / "VERSION").read_text()}
        for name, text in texts.items():
            (place / name).write_text(f"{text.strip()}\n", encoding="utf-8")
    except OSError as err:
        raise Died(f"{err.filename or place}: cannot write this file: {err.strerror}") from err
