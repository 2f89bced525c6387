# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of parts of ./vlwp test as a mutant names them: `linux programs/known` is ./vlwp test linux programs/known."""

import os
import re
from pathlib import Path

from lab.common import proc
from lab.common.places import TOP
from lab.common.say import Died
from lab.mutants.listed import Test

# By the program's name.
PARTS = {"check": "flat", "linux": "linux", "migrate": "migrate", "kvm": "kvm", "libvirt": "libvirt",
         "process": "linux"}
NONE = re.compile(r"^0 passed, 0 failed", re.MULTILINE)


def red(test: Test, path: Path, variable: str, value: Path) -> bool:
    """Run it with a variable in its environment; what it says goes to a file. Does it fail? One that is skipped proves
    nothing."""
    with path.open("w+", encoding="utf-8", errors="replace") as log:
        env = {**os.environ, variable: str(value)}
        status = proc.logged([TOP / "vlwp", "test", PARTS[test.program], test.name], log, env=env)
        log.seek(0)
        if NONE.search(log.read()):
            raise Died(f"'{test}' is skipped (see {path})")
    return status != 0
