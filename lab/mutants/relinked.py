# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's mutants in the emulator of every day: it is linked once more, with the objects that a mutant changes,
which takes two seconds."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.building import qemu, qemu_tree
from lab.common import proc
from lab.common.c_source import Tree
from lab.common.places import TOP
from lab.common.say import Died
from lab.mutants import soak
from lab.mutants.listed import UNIT, Mutant, Test, applied

NAME = "qemu-system-x86_64"
OBJECT = "libqemu-x86_64-softmmu.a.p/target_i386_lwp_{}.o"


class Relinked:
    """A copy of the folder in which QEMU has the engine."""

    def __init__(self, work: Path):
        self.tree, self.out = qemu.tree_dir("vlwp") / qemu_tree.LWP, qemu.out_dir("vlwp")
        self.copy, self.emulator = work / "lwp", work / NAME
        self.build_log, self.test_log = work / "build.log", work / "test.log"
        self.commands: dict[str, str] = {}

    def prepare(self, _mutants: Sequence[Mutant]) -> None:
        """Build the emulator, and make the copy."""
        qemu.build()
        soak.mirror(self.tree, self.copy)
        made = proc.output(["ninja", "-C", self.out, "-t", "compdb", "-x", "c_COMPILER", "c_LINKER_RSP"])
        self.commands = {one["output"]: one["command"] for one in json.loads(made)}

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""
        return self.copy / Path(file).name

    def _command(self, output: str, options: Mapping[str, Path]) -> list[str]:
        words = shlex.split(self.commands[output])
        for option, path in options.items():
            words[words.index(option) + 1] = str(path)
        return words

    def build(self, _tests: Sequence[Test] = ()) -> str:
        """Link it with what differs in the copy. Result: the first error, "" if there is none."""
        changed = [one for one in self.copy.iterdir() if one.read_bytes() != (self.tree / one.name).read_bytes()]
        link, steps = self._command(NAME, {"-o": self.emulator}), []
        for source in self.copy.glob("*.c"):
            was, now = OBJECT.format(source.name), self.copy.with_name(f"{source.name}.o")
            includes = (f'"{one.name}"' in source.read_text("utf-8") for one in changed)
            if was in link and (source in changed or any(includes)):
                link[link.index(was)] = str(now)
                steps.append([*self._command(was, {"-c": source, "-o": now, "-MF": Path("/dev/null")}), "-Wno-error"])
        with self.build_log.open("w", encoding="utf-8") as log:
            failed = any(proc.logged(argv, log, cwd=self.out) for argv in [*steps, link])
        return soak.first_error(self.build_log) if failed else ""

    def wrong(self, mutant: Mutant) -> Path:
        """The emulator with a mutant, which stays."""
        self.prepare([mutant])
        source, text = applied(mutant, Tree(TOP, UNIT.folders))
        self.place(source.path).write_text(text, encoding="utf-8")
        if error := self.build():
            raise Died(f"{mutant} does not compile: {error}")
        return self.emulator
