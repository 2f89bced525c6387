# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects of the patched QEMU for a flavour that compiles the same: no source is compiled twice.

An object serves if its command line is the same and every file that it was made from has the same content, the names of
tree and build directory aside. Ninja runs the compile steps as always, but `gcc` is then a script that copies
such an object. So ninja's own log is right, and later builds need nothing of this.
"""

import filecmp
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from lab.common import proc

FLAVOURS = ("vlwp", "base", "full", "package", "mutants", "cet")


def flags(sources: Path, trees: Sequence[str]) -> str:
    """For configure's --extra-cflags: __FILE__ is the same in the trees of all flavours, which lie in one folder."""
    places = [place for name in trees for place in (f"../src/{name}/", f"{sources}/{name}/")]
    return " ".join(f"-fmacro-prefix-map={place}=" for place in places)


GCC = """#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gcc, but for objects that another flavour of QEMU has already
object= depfile= last=
for word; do
    case $last in
    -o) object=$word ;;
    -MF) depfile=$word ;;
    esac
    last=$word
done
if [ -n "$depfile" ] && [ -f "{shared}/$object.d" ]; then
    cp "{have}/$object" "$object" && exec cp "{shared}/$object.d" "$depfile"
fi
exec "{gcc}" "$@"
"""


class _Pair:
    """A flavour that is built, and one that is to be: what is called what."""

    def __init__(self, have: tuple[Path, Path], want: tuple[Path, Path]):
        (self.have, have_tree), (self.want, want_tree) = have, want
        # The longer name first: a build directory's can be the beginning of another's.
        self.names = [
            (str(have_tree), str(want_tree)),
            (os.path.relpath(have_tree, self.have), os.path.relpath(want_tree, self.want)),
            (str(self.have), str(self.want)),
        ]

    def renamed(self, text: str) -> str:
        """The same command or file name in the flavour that is to be."""
        for old, new in self.names:
            text = re.sub(rf"{re.escape(old)}(?=[/ ]|$)", new, text)
        return text

    def commands(self) -> tuple[dict[str, str], dict[str, str]]:
        """What compiles each object, in both."""
        both = []
        for out in (self.have, self.want):
            entries = json.loads((out / "compile_commands.json").read_text(encoding="utf-8"))
            no_map = re.compile(r"-fmacro-prefix-map=\S+ ")  # flags() name all trees
            both.append({entry["output"]: no_map.sub("", entry["command"]) for entry in entries})
        return both[0], both[1]

    @cache
    def same(self, name: str) -> bool:
        """Has the file that was read under this name the same content in the flavour that is to be?"""
        other = self.want / self.renamed(name)
        one = self.have / name
        return one == other or (one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False))


def _dependencies(out: Path) -> Iterator[tuple[str, list[str]]]:
    """Each object that is up to date, and what it was made from, as ninja remembers."""
    for block in proc.output(["ninja", "-C", out, "-t", "deps"]).split("\n\n"):
        first, *names = block.strip().split("\n")
        name, _, state = first.partition(": #deps ")
        if state.endswith("(VALID)") and name.endswith(".o") and (out / name).is_file():
            yield name.rpartition("\n")[2], [line.strip() for line in names]


def _generate(pair: _Pair, dependencies: dict[str, list[str]]) -> None:
    """Make the generated sources in the flavour that is to be."""
    targets = proc.output(["ninja", "-C", pair.want, "-t", "targets", "all"])
    known = set(re.findall(r"^(.*): CUSTOM_COMMAND", targets, re.MULTILINE))
    wanted = {name for names in dependencies.values() for name in names} & known
    if wanted:
        proc.output(["ninja", "-C", pair.want, *sorted(wanted)])


def prepare(have: tuple[Path, Path], want: tuple[Path, Path]) -> str:
    """Find the objects of one flavour (build directory, tree) that serve in another, which is configured. Returns what
    goes first in PATH when ninja builds there, "" if nothing serves."""
    pair = _Pair(have, want)
    shared = pair.want / "shared"
    shutil.rmtree(shared, ignore_errors=True)
    if not (pair.have / ".ninja_deps").is_file():
        return ""
    before, after = pair.commands()
    dependencies = {
        name: names
        for name, names in _dependencies(pair.have)
        if name in before and pair.renamed(before[name]) == after.get(name)
    }
    _generate(pair, dependencies)
    count = 0
    for name, names in dependencies.items():
        if all(pair.same(file) for file in names):
            depfile = shared / f"{name}.d"
            depfile.parent.mkdir(parents=True, exist_ok=True)
            depfile.write_text(f"{name}: {' '.join(map(pair.renamed, names))}\n", encoding="utf-8")
            count += 1
    if not count:
        return ""
    script = shared / "bin/gcc"
    script.parent.mkdir()
    script.write_text(GCC.format(shared=shared, have=pair.have, gcc=shutil.which("gcc")), encoding="utf-8")
    script.chmod(0o755)
    return str(script.parent)
