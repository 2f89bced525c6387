# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's mutants in the emulator of every day: it is linked once more, with the objects that a mutant changes,
which takes two seconds."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from lab.building import qemu, qemu_tree
from lab.common import proc
from lab.mutants import soak
from lab.mutants.listed import Mutant, Test

NAME = "qemu-system-x86_64"


class Relinked:
    """A copy of the folder in which QEMU has the engine."""

    def __init__(self, work: Path):
        self.tree, self.out = qemu.tree_dir("vlwp") / qemu_tree.LWP, qemu.out_dir("vlwp")
        self.copy, self.emulator = work / "lwp", work / NAME
        self.build_log, self.test_log = work / "build.log", work / "test.log"

    def prepare(self, _mutants: Sequence[Mutant] = ()) -> None:
        """Build the emulator, and make the copy."""
        qemu.build()
        soak.mirror(self.tree, self.copy)

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""
        return self.copy / Path(file).name

    def build(self, _tests: Sequence[Test] = ()) -> str:
        """Link it with what differs in the copy. Result: the first error, "" if there is none."""
        made = proc.output(["ninja", "-C", self.out, "-t", "compdb", "-x", "c_COMPILER", "c_LINKER_RSP"])
        commands = {Path(one["output"]).name: one["command"] for one in json.loads(made)}
        changed = [one for one in self.copy.iterdir() if one.read_bytes() != (self.tree / one.name).read_bytes()]
        link, steps = shlex.split(commands[NAME]), []
        link[link.index("-o") + 1] = str(self.emulator)
        objects = {Path(word).name: at for at, word in enumerate(link)}
        for source in self.copy.glob("*.c"):
            name = f"target_i386_lwp_{source.name}.o"
            includes = (f'"{one.name}"' in source.read_text("utf-8") for one in changed)
            if name in objects and (source in changed or any(includes)):
                link[objects[name]] = f"{self.emulator}.{name}"
                argv = shlex.split(commands[name])
                for option, value in ("-c", source), ("-o", link[objects[name]]), ("-MF", "/dev/null"):
                    argv[argv.index(option) + 1] = str(value)
                steps.append([*argv, "-Wno-error"])
        with self.build_log.open("w", encoding="utf-8") as log:
            failed = any(proc.logged(argv, log, cwd=self.out) for argv in [*steps, link])
        return soak.first_error(self.build_log) if failed else ""
