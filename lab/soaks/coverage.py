# SPDX-License-Identifier: GPL-2.0-or-later
"""Branch coverage of vmcb/ and kvm/engine/ by the unit tests; it fails when one of them is below PERCENT."""

import argparse
import re
import shutil

from lab.building import meson, deps
from lab.common import proc
from lab.common.places import BUILD, LOG, TOP
from lab.common.say import Died, Skip
from lab.common.steps import build_lock, step

OUT = BUILD / "coverage"
# Two programs compare a whole libc and whole opcode maps with objdump: without optimisation they take minutes.
LEFT_OUT = ("_objdump", "_maps")


def add_options(parser: argparse.ArgumentParser) -> None:
    percent = parser.add_argument("percent", nargs="?", type=int, choices=range(101), default=95)
    percent.metavar, percent.help = "PERCENT", "default 95"


def _tests() -> list[str]:
    listing = proc.output(["ninja", "-C", OUT, "-t", "targets", "all"])
    found = re.findall(r"^((?:vmcb|kvm/engine)/tests/test_[^/:]*): .*_LINKER", listing, re.MULTILINE)
    return [name for name in found if not name.endswith(LEFT_OUT)]


def main(args: argparse.Namespace) -> None:
    if not shutil.which("gcovr"):
        raise Skip("soak coverage needs gcovr (Debian package gcovr)")
    deps.ensure()
    with build_lock("coverage"):
        meson.fetch()
        options = ["-Db_coverage=true", "-Dbuildtype=debug", "-Dtests=enabled"]
        if not meson.configured(OUT):
            step("configuring for coverage", "coverage-configure", meson.setup(OUT, options))
        tests = _tests()
        step("compiling for coverage", "coverage-compile", meson.ninja(OUT, *tests), about=60)
        for file in OUT.rglob("*.gcda"):
            file.unlink()
        for test in tests:
            step(test, f"coverage-{test.rpartition('/')[2]}", [OUT / test])
        _judge(args.percent)


def _judge(percent: int) -> None:
    """What is measured is the code itself: not tests, not fuzz targets."""
    failed = []
    for part in ("vmcb", "kvm/engine"):
        print(f"branch coverage of {part}/:", flush=True)
        command: list[proc.Word] = ["gcovr", "--root", TOP, "--object-directory", OUT, "--branches"]
        command += ["--filter", f"{part}/lwp_"]
        with (LOG / "coverage-gcovr").open("w", encoding="utf-8") as errors:
            if proc.call([*command, "--fail-under-branch", str(percent), OUT], stderr=errors):
                failed.append(part)
    if failed:
        where = " and ".join(failed)
        raise Died(f"branch coverage of {where} is below {percent} %: test the branches listed as missing")
