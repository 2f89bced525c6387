# SPDX-License-Identifier: GPL-2.0-or-later
"""The libFuzzer targets: building them, running one on its committed corpus or on fresh input. A target fuzz_NAME has
its corpus in a folder corpus/fuzz_NAME beside its source."""

import re

from lab.building import meson
from lab.common import proc
from lab.common.places import BUILD, TOP
from lab.common.report import Check
from lab.common.steps import make_dir

OUT = BUILD / "host-fuzz"
SETUP = meson.setup(OUT, ("-Dfuzz=true", "-Db_sanitize=address,undefined", "-Db_lundef=false"), "clang")


def compile_all(check: Check) -> None:
    """Build all fuzzers, with clang."""
    if not meson.configured(OUT):
        check.run(SETUP)
    check.run(meson.ninja(OUT, "build.ninja"))  # a target may be new
    check.run(meson.ninja(OUT, *targets()))


def targets() -> list[str]:
    """The fuzzers that this tree has, as Ninja knows them; none before its build directory is configured."""
    if not meson.configured(OUT):
        return []
    listing = proc.output(["ninja", "-C", OUT, "-t", "targets", "all"])
    return sorted(re.findall(r"^(\S*/fuzz_[a-z0-9_]*): c_LINKER", listing, re.MULTILINE))


def name_of(target: str) -> str:
    """The fuzzer's name without its folder."""
    return target.rpartition("/")[2]


def _run(check: Check, target: str, *options: str) -> None:
    """Findings go below build/, never into the tree."""
    place = BUILD / "fuzz" / name_of(target)
    make_dir(place / "new")
    env = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    check.run([OUT / target, "-print_final_stats=1", f"-artifact_prefix={place}/", *options], env=env)


def corpus(check: Check, target: str) -> None:
    """Run a fuzzer on its committed corpus."""
    folder = TOP / target.rpartition("/")[0] / "corpus" / name_of(target)
    check.want(folder.is_dir(), f"{folder}: no corpus")
    _run(check, target, "-runs=0", str(folder))


def fresh(check: Check, target: str, seconds: int, seed: int) -> None:
    """Run a fuzzer on fresh input."""
    folder = TOP / target.rpartition("/")[0] / "corpus" / name_of(target)
    new = BUILD / "fuzz" / name_of(target) / "new"
    _run(check, target, f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=25", str(new), str(folder))
