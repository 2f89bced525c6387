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
    """A copy of the folders in which QEMU has the engine and what calls it."""

    def __init__(self, work: Path):
        self.trees = [qemu.tree_dir("vlwp") / folder for folder in (qemu_tree.LIBRARY, qemu_tree.LWP)]
        self.out = qemu.out_dir("vlwp")
        self.copy, self.emulator = work / "lwp", work / NAME
        self.build_log, self.test_log = work / "build.log", work / "test.log"

    def prepare(self, _mutants: Sequence[Mutant] = ()) -> None:
        """Build the emulator, and make the copy."""
        qemu.build()
        for tree in self.trees:
            soak.mirror(tree, self.copy / tree.name)

    def place(self, file: str) -> Path:
        """Where a file of this repository lies in the copy."""
        return self.copy / self.trees[0].name / Path(file).name

    def build(self, _tests: Sequence[Test] = ()) -> str:
        """Link it with what differs in the copy. Result: the first error, "" if there is none."""
        made = proc.output(["ninja", "-C", self.out, "-t", "compdb", "-x", "c_COMPILER", "c_LINKER_RSP"])
        commands = {Path(one["output"]).name: one["command"] for one in json.loads(made)}
        pairs = [(one, tree / one.name) for tree in self.trees for one in (self.copy / tree.name).iterdir()]
        changed = {one.name for one, origin in pairs if one.read_bytes() != origin.read_bytes()}
        texts = {one.name: one.read_text("utf-8") for one, _ in pairs}
        while more := {name for name, text in texts.items() if any(f'"{one}"' in text for one in changed)} - changed:
            changed |= more  # what includes them is changed, too
        link, steps, instead = shlex.split(commands[NAME]), [], list[str]()
        link[link.index("-o") + 1] = str(self.emulator)
        objects = {Path(word).name: at for at, word in enumerate(link)}
        for source in (one for one, _ in pairs if one.suffix == ".c"):
            # Of a library, a member is not taken if an object before it has the same functions.
            known = (f"target_i386_lwp_{source.name}.o", f"{source.name}.o")
            name = next((name for name in known if name in commands), "")
            if name and source.name in changed:
                made = f"{self.emulator}.{name}"
                if name in objects:
                    link[objects[name]] = made
                else:
                    instead.append(made)
                argv = shlex.split(commands[name])
                for option, value in ("-c", source), ("-o", made), ("-MF", "/dev/null"):
                    argv[argv.index(option) + 1] = str(value)
                steps.append([argv[0], f"-I{self.copy / self.trees[0].name}", *argv[1:], "-Wno-error"])
        link[1:1] = instead
        with self.build_log.open("w", encoding="utf-8") as log:
            failed = any(proc.logged(argv, log, cwd=self.out) for argv in [*steps, link])
        return soak.first_error(self.build_log) if failed else ""
