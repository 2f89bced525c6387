# SPDX-License-Identifier: GPL-2.0-or-later
"""The proofs are judged: each mutant of vmcb and kvm/engine must make a property false whose code reaches it, or
docs/proofs.md says why none notices: then it is only tried if it is named. The nearest properties are asked, as
./vlwp test proves them; of the table of contexts its enumeration is. Each mutant is a line of
lab/results/mutants-proofs; --resume continues."""

import argparse
import re
import subprocess
import zlib
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

from lab.building import cbmc
from lab.common import proc
from lab.common.c_source import Tree, sources
from lab.common.places import BUILD, TOP
from lab.common.results import FOLDER, Results, code_of
from lab.common.say import Died
from lab.common.steps import build_lock, jobs_count, make_dir
from lab.mutants import soak
from lab.mutants.listed import UNIT, Mutant, applied
from lab.testing import proofs
from lab.testing.proofs import ALL, COMMON, File, Split

PAGE = TOP / "docs/proofs.md"
REASON = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)  # functions, and why
MOST = 10  # properties that are asked of a mutant
LIMIT = 300  # seconds for one proof with a mutant; what takes longer has not noticed it
TABLE = "kvm/engine/lwp_context_table.c"  # for which something stands in where properties reach it
ENUMERATED = ("kvm/engine/proofs/all_tables.c", "kvm/engine/fuzz/check_table.c", TABLE)
OPERATIONS = 6
Node = tuple[str, str]  # a file, and a name that it defines


class Proofs:
    """A copy of the sources, and what its properties say."""

    def __init__(self, work: Path):
        self.tree, self.out = work / "tree", work / "proofs"
        self.reached: list[tuple[File, str, dict[Node, int]]] = []

    def prepare(self) -> None:
        """Make the copy."""
        make_dir(self.tree)
        for folder in UNIT.folders:
            soak.mirror(TOP / folder, self.tree / folder)
        for file in proofs.files(self.tree, self.out):
            uses, path = _uses(file, self.tree), str(file.path.relative_to(self.tree))
            self.reached += [(file, name, _distances(uses, (path, name))) for name in file.properties]

    def asked(self, path: str, name: str) -> list[tuple[File, str, Split]]:
        """Some of the properties whose code reaches a definition in a file, the nearest first; those of the soak
        after others as near."""
        found: list[tuple[int, bool, File, str, Split]] = []
        for file, asked, distances in self.reached:
            far = distances.get((path, name), -1) if name.isidentifier() else 0  # a file, or a type: all
            soak = asked in file.says("Soak")
            for split in file.splits(asked) if far >= 0 else ():
                if split == ALL or split.name in COMMON:
                    found.append((far, soak, file, asked, split))
        return [run[2:] for run in sorted(found, key=lambda run: run[:2])[:MOST]]

    def reach(self, tree: Tree, mutant: Mutant) -> bool:
        """Is any asked?"""
        path = applied(mutant, tree)[0].path
        return path == TABLE or bool(self.asked(path, mutant.name))

    def noticed(self, tree: Tree, mutant: Mutant) -> str:
        """The first property that is false with it, "" if all hold."""
        source, text = applied(mutant, tree)
        place = self.tree / source.path
        place.write_text(text, encoding="utf-8")
        try:
            if source.path == TABLE:
                return "" if self._enumerated() else "all_tables"
            runs = self.asked(source.path, mutant.name)
            return next((name for file, name, split in runs if _false(file, name, split)), "")
        finally:
            place.write_text(source.text, encoding="utf-8")

    def _enumerated(self) -> bool:
        """Is the table right after each sequence of operations? That takes half a minute."""
        make_dir(self.out)
        out = self.out / "all_tables"
        words = [f"-I{self.tree / folder}" for folder in (*UNIT.folders, "kvm/engine/fuzz")]
        words += [str(self.tree / name) for name in ENUMERATED]
        proc.output(["cc", "-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-o", out, *words])
        return not proc.call([out, str(OPERATIONS)], limit=LIMIT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _false(file: File, name: str, split: Split) -> bool:
    try:
        return any(proofs.false(file, name, split, LIMIT))
    except subprocess.TimeoutExpired:
        return False


def _uses(file: File, top: Path) -> dict[Node, set[Node]]:
    """The definitions that each uses, of all that a file of properties is compiled with; a property is one."""
    headers = [path for folder in file.folders for path in sorted(folder.rglob("*.h"))]
    words: dict[Node, set[str]] = {}
    near: dict[str, set[str]] = {}  # by a file: what it defines
    seen: dict[str, str] = {}  # by other files: a name, and where it is
    for source in sources(top, [path.relative_to(top) for path in (*file.sources, *headers)]):
        for name, found in source.definitions.items():
            for one in found:
                key = one.tokens[2].text if name == "PROPERTY" else name
                words.setdefault((source.path, key), set()).update(token.text for token in one.tokens)
                near.setdefault(source.path, set()).add(key)
                if source.path.endswith(".h") or one.tokens[0].text != "static":
                    seen[key] = source.path
    return {
        (path, name): {(path if word in near[path] else seen[word], word) for word in used & (near[path] | seen.keys())}
        for (path, name), used in words.items()
    }


def _distances(uses: dict[Node, set[Node]], first: Node) -> dict[Node, int]:
    """How many definitions lie between one and each that it reaches."""
    found, new = {first: 0}, {first}
    while new:
        far = max(found.values()) + 1
        new = {used for at in new for used in uses[at]} - set(found)
        found |= dict.fromkeys(new, far)
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    soak.add_options(parser)
    parser.add_argument("--resume", action="store_true", help="mutants that were tried on this code count")


def main(args: argparse.Namespace) -> int:
    mutants = soak.select(args, UNIT)
    if args.list:
        return soak.show(mutants)
    cbmc.fetch()
    with build_lock("mutants-proofs"):
        free: SimpleQueue[Proofs] = SimpleQueue()
        for number in range(jobs_count()):
            copy = Proofs(BUILD / f"mutants-proofs/{number}")
            copy.prepare()
            free.put(copy)
        done = Results(FOLDER / "mutants-proofs", code_of(UNIT.folders), args.resume)
        tree = Tree(TOP, UNIT.folders)
        keys = {zlib.crc32(f"{one.place} {one.was} {one.now}".encode()) % 10**9: one for one in mutants}

        def judged(key: int) -> tuple[int, str]:
            mine = free.get()
            try:
                return key, mine.noticed(tree, keys[key])
            finally:
                free.put(mine)

        pool = ThreadPoolExecutor(jobs_count())
        try:
            told = () if args.texts else _told()
            asked = {key: one for key, one in keys.items() if one.name not in told and copy.reach(tree, one)}
            for run in as_completed([pool.submit(judged, key) for key in asked if key not in done.lines]):
                key, name = run.result()
                done.add(key, bool(name), f"{keys[key].place} {name or 'unnoticed'}")
                print(f"{keys[key]}: {name or 'unnoticed'}", flush=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return _sums(list(done.lines.values()))


def _told() -> set[str]:
    """The functions for which the page has a reason."""
    return {name for names in REASON.findall(PAGE.read_text(encoding="utf-8")) for name in re.findall(r"\w+", names)}


def _sums(lines: list[str]) -> int:
    unnoticed = [line.split()[3] for line in lines if line.split()[2] == "wrong"]
    print(f"{len(lines)} mutants, {len(unnoticed)} unnoticed")
    if unknown := {place for place in unnoticed if place.rpartition(":")[2] not in _told()}:
        raise Died(f"{PAGE.name} has no reason for {', '.join(sorted(unknown))}: add a property, or the reason")
    return 0
