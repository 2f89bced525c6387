# SPDX-License-Identifier: GPL-2.0-or-later
"""The x86 KVM selftests of the lab's kernel end with its own modules as with ours."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

import pytest

from lab.building import linux
from lab.common import proc
from lab.common.places import BUILD, LAB
from lab.common.steps import build_lock, jobs_count, make_dir, need_space, step
from lab.guest.vm import GUEST_SHARE, run_directory
from lab.nested import l1
from lab.nested.l1 import L1
from lab.tests.plugin import Points, Tell

WORK = BUILD / "selftests"
RUN = WORK / "run"
IN_L1 = LAB / "nested/selftests-l1.sh"
FEWEST = 20  # that must build
LIMIT = "120"  # seconds for each; the status of one that takes longer is 124
SKIPS = "4"  # the exit status of a test that skips itself


def _build(source: Path, log: IO[str]) -> None:
    """What does not build without packages that nothing else here needs is left out: make continues."""
    headers, tests = WORK / "headers", WORK / "tests"
    make = ["make", "-C", str(source), f"O={headers}", "ARCH=x86_64", "headers"]
    if proc.logged(make, log) == 0:
        where = [f"OUTPUT={tests}", f"LINUX_HDR_PATH={headers}/usr/include"]
        flags = [f"KHDR_INCLUDES=-isystem {headers}/usr/include", "LDFLAGS=-pthread -static -no-pie"]
        folder = source / "tools/testing/selftests/kvm"
        proc.logged(["make", "-k", "-j", str(jobs_count()), "-C", folder, "ARCH=x86_64", *where, *flags], log)
    shutil.rmtree(RUN, ignore_errors=True)
    make_dir(RUN)
    for folder in (tests / "x86_64", tests):
        for file in folder.iterdir() if folder.is_dir() else ():
            if file.is_file() and not file.is_symlink() and os.access(file, os.X_OK):
                shutil.copy(file, RUN)
    assert len(list(RUN.iterdir())) >= FEWEST, "most do not build"


def statuses(stock: bool) -> dict[str, str]:
    """Run them in L1. Result: the exit status of each; what each has said is in WORK/logs-STOCK."""
    output, logs = WORK / f"output-{int(stock)}", WORK / f"logs-{int(stock)}"
    with run_directory() as run, output.open("w", encoding="utf-8") as out:
        (run / "share/logs").mkdir()
        lab = L1(smp=2, memory=3072, stock=stock)
        l1.boot(lab, run, [IN_L1, RUN, f"{GUEST_SHARE}/logs", LIMIT], stdin=subprocess.DEVNULL, stdout=out)
        shutil.rmtree(logs, ignore_errors=True)
        shutil.copytree(run / "share/logs", logs)
    *lines, end = output.read_text(encoding="utf-8").splitlines()
    assert end == "all done", "they did not come to their end"
    return dict(line.split(" ", 1) for line in lines)


@pytest.mark.soak
def test_selftests(points: Points, tell: Tell) -> None:
    """Each with the same status, with the kernel's own modules and with ours."""
    l1.prepare()
    with build_lock("selftests"):
        need_space(4000)
        whole = linux.fetch_all(linux.fetch())
        step("building the KVM selftests", "selftests-build", lambda log: _build(whole, log))
        stock, ours = statuses(True), statuses(False)
    for name in sorted(stock | ours):
        tell(f"{name:<40} {stock.get(name, 'missing'):>8} {ours.get(name, 'missing'):>8}")
    same = sum(stock.get(name) == status for name, status in ours.items())
    points(same, len(stock | ours) - same, 0)
    assert stock == ours and {"0", SKIPS} <= set(stock.values())
