# SPDX-License-Identifier: GPL-2.0-or-later
"""Put each mutant of the lists of guest-tools and host-tools into a copy; its tests must fail: unit tests, and
tests of `./vlwp test flat`, `linux` and `libvirt`, which then find the copy's programs where they find the tools."""

import argparse
import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from lab.building import kernel, qemu
from lab.common import proc
from lab.common.places import BUILD, HOST, PYTHON
from lab.common.say import Died
from lab.common.steps import make_dir
from lab.mutants import parts, soak
from lab.mutants.listed import TOOLS, Test
from lab.mutants.unit import Unit, tried

add_options = soak.add_options


class Tools(Unit):
    """A copy of all that Meson builds, and a build folder in which it is in place of ours."""

    listed = TOOLS
    files = (*Unit.files, "conftest.py", "pytest.ini")
    folders = ("vmcb", "kvm", "guest-tools", "host-tools", "guest-tests", "lab")
    options = ()
    limit = 120

    def __init__(self, work: Path):
        super().__init__(work)
        self.build_dir = work / "build"

    def _read(self, what: str) -> Any:
        """What Meson says of tests or targets."""
        return json.loads((self.out / f"meson-info/intro-{what}.json").read_text(encoding="utf-8"))

    def _test(self, program: str) -> Any:
        return next(test for test in self._read("tests") if test["cmd"][0] == str(self.out / program))

    def _targets(self, tests: Collection[Test]) -> list[str]:
        """A program of tests, and the programs that it starts; for a part, everything, as `./vlwp test` builds it."""
        if any(test.program in parts.PARTS or test.program.endswith(".py") for test in tests):
            return []
        wanted = {target for test in tests for target in self._test(test.program)["depends"]}
        files = {target["id"]: Path(target["filename"][0]) for target in self._read("targets")}
        return sorted(str(files[target].relative_to(self.out)) for target in wanted)

    def _command(self, program: str, *options: str) -> list[str]:
        words = [f"{name}={value}" for name, value in self._test(program)["env"].items()]
        return ["env", *words, *super()._command(program, *options)]

    def _check_green(self, program: str, names: Sequence[str]) -> None:
        if program not in parts.PARTS and not program.endswith(".py"):
            super()._check_green(program, names)
            return
        if program in parts.PARTS:
            kernel.build()
            qemu.ensure()
            qemu.build("base")
        self._link()
        for name in names:
            if self.red(Test(program, name)):
                raise Died(f"{program} {name} fails without any mutant (see {self.test_log})")

    def _link(self) -> None:
        """What was built, with the copy's programs in place of ours. The sanitized ones are the copy's own, too."""
        make_dir(self.build_dir)
        for place in {*BUILD.iterdir(), HOST} - {self.build_dir.parent, BUILD / "host-tests"}:
            link = self.build_dir / place.name
            if not link.exists():
                link.symlink_to(self.out if place == HOST else place)

    def red(self, test: Test) -> bool:
        """Run a test. Does it fail?"""
        if test.program in parts.PARTS:
            return parts.red(test, self.test_log, "VLWP_BUILD_DIR", self.build_dir)
        if test.program.endswith(".py"):
            argv = ["timeout", "--kill-after=5", str(self.limit), PYTHON, "-B", "-m", "pytest"]
            argv += ["-p", "no:cacheprovider", f"{test.program}::{test.name}"]
            env = {**os.environ, "VLWP_BUILD_DIR": str(self.build_dir)}
            with self.test_log.open("w", encoding="utf-8") as log:
                return proc.logged(argv, log, cwd=self.tree, env=env) != 0
        return super().red(test)


def main(args: argparse.Namespace) -> int:
    return tried(args, Tools, "mutants-tools")
