# SPDX-License-Identifier: GPL-2.0-or-later
"""The KVM selftest of the series for Linux: it compiles within the kernel's source, and passes in the nested lab."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from lab.building import linux
from lab.building.linux import SELFTESTS, selftest_folder
from lab.common import proc
from lab.common.check import good, run
from lab.common.kit import tap
from lab.common.steps import jobs_count
from lab.guest.vm import run_directory
from lab.nested import l1
from lab.nested.l1 import L1
from lab.series import linux as series
from lab.series.export import copy_touched
from lab.series.tree import Tree, author

NAME = "svm_lwp_test"
WHOLE = "linux-whole"  # the source that it is compiled in
CPU = "EPYC,pmu=on,perfctr-core=on,ibs=on,ibs-cache=on"  # L1 has counters and IBS
PLAN = re.compile(r"^1\.\.(\d+)$", re.MULTILINE)
WARNED = re.compile(rf"^.*\b{NAME}\b.*(?:warning|error): .*$", re.MULTILINE)


def overlay(lower: Path, upper: Path, place: Path) -> None:
    """A folder with the files of `upper`, and links to what else `lower` has."""
    place.mkdir(parents=True)
    below = {file.name for file in lower.iterdir()} if lower.is_dir() else set()
    for name in below | {file.name for file in upper.iterdir()} - {".git"}:
        if (upper / name).is_dir():
            overlay(lower / name, upper / name, place / name)
        elif (upper / name).is_file():
            shutil.copy(upper / name, place / name)
        else:
            (place / name).symlink_to(lower / name)


def whole_tree(work: Path) -> Path:
    """The whole source of the kernel, with the series."""
    place = work / WHOLE
    if not place.is_dir():
        source = linux.fetch_series()
        patches = series.patches(work / "series")
        touched = work / "linux-touched"
        copy_touched(source.pristine, patches, touched)
        Tree(touched, author(), sys.stdout).git("am", *patches)
        overlay(linux.fetch_all(source), touched, place)
    return place


def _program(work: Path) -> Path:
    return work / "selftests" / selftest_folder(work / WHOLE).name / NAME


def compiles(work: Path) -> None:
    """With the kernel's own Makefiles and headers; a warning is an error."""
    tree, headers, tests = whole_tree(work), work / "headers", work / "selftests"
    program, jobs = _program(work), f"-j{jobs_count()}"
    good(["make", "-s", jobs, "-C", tree, f"O={headers}", "ARCH=x86_64", "headers"])
    include = headers / "usr/include"
    settings = [f"OUTPUT={tests}", f"LINUX_HDR_PATH={include}", f"KHDR_INCLUDES=-isystem {include}"]
    flags = "LDFLAGS=-pthread -static -no-pie"  # L1 need not have the same libraries
    make: list[proc.Word] = ["make", jobs, "-C", tree / SELFTESTS, "ARCH=x86_64", *settings, flags, program]
    ended = run(make)
    assert ended.status == 0 and not WARNED.search(ended.said)
    makefile = "".join(file.read_text(encoding="utf-8") for file in (tree / SELFTESTS).glob("Makefile*"))
    assert f"+= {program.parent.name}/{NAME}\n" in makefile, "no Makefile names it: `make` would leave it out"


def passes(work: Path, modules: Path | None = None) -> None:
    """It runs to its end in L1, with these modules (those of build/kvm), and nothing fails or is skipped."""
    if not (work / WHOLE).is_dir() or not _program(work).is_file():
        compiles(work)
    l1.prepare()
    with run_directory() as run:
        program = run / NAME
        shutil.copy(_program(work), program)
        output = work / "selftest-output"
        with output.open("w", encoding="utf-8") as out:
            lab = L1(smp=2, limit=1500, cpu=CPU, modules=modules)
            status = l1.boot(lab, run, [program], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    text = output.read_text(encoding="utf-8", errors="replace")
    print(text)
    found, plan = tap.read(text), PLAN.search(text)
    assert plan is not None and status == 0, f"it ends with status {status}"
    assert plan
    skipped = text.count("# SKIP")
    assert found.passed == int(plan[1]) and not skipped, f"{found.passed} of {plan[1]} pass, {skipped} are skipped"
