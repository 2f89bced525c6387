# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of a soak that is done in parts: a text file that is committed. A line is a run: the hash of the code that
was tested, the seed, the verdict, and what was run. It counts for as long as that code is the same."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from lab.common.places import LAB, TOP
from lab.common.say import Died
from lab.common.steps import make_dir

FOLDER = LAB / "results"
SOURCES = (".c", ".h", ".inc", ".S", ".patch", ".diff", ".java", ".js", ".lua", ".pl", ".py")
HEADER = """# SPDX-License-Identifier: GPL-2.0-or-later
# CODE SEED right|wrong WHAT; CODE: a hash of the sources that are tested
"""
# Places, ids and the signature.
NO_HUNK = re.compile(rb"^(@@ -.*|index [0-9a-f]+\.\..*)\n|^-- \n.*\n", re.MULTILINE)
C_LIKE = (".c", ".h", ".inc")
# A string or a character, which stays, or a comment.
COMMENT = re.compile(rb"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+')|/\*.*?\*/|//[^\n]*", re.DOTALL)
LINE = re.compile(r"[0-9a-f]{12} (?P<seed>[0-9]{1,9}) (?P<verdict>right|wrong) [!-~][ -~]*\n")


def code_of(folders: Iterable[str], also: str = "") -> str:
    """The hash of the sources in folders of the repository, without tests of their own; also: what else matters. Where
    a source lies does not matter, nor a comment, nor what a patch has besides its hunks."""
    found = {path for folder in folders for path in (TOP / folder).rglob("*") if path.suffix in SOURCES}
    files = [path for path in found if "tests" not in path.relative_to(TOP).parts[1:]]
    parts = sorted(_code(path.name, path.read_bytes()) for path in files)
    return hashlib.sha256(b"\0".join([*parts, also.encode()])).hexdigest()[:12]


def _code(name: str, text: bytes) -> bytes:
    """What a file has that is compiled or applied."""
    if name.endswith(".patch"):
        return NO_HUNK.sub(b"", text.partition(b"\ndiff --git ")[2]).strip()
    if name.endswith(C_LIKE):
        return b" ".join(COMMENT.sub(lambda found: found[1] or b" ", text).split())
    return text


class Results:
    """The results of one soak with the code of today. Without resume they begin again."""

    def __init__(self, path: Path, code: str, resume: bool):
        self.path, self.code = path, code
        self.lines: dict[int, str] = {}  # by seed, those of this code
        if resume and path.exists():
            self._read()
        else:
            make_dir(path.parent)
            path.write_text(HEADER, encoding="utf-8")

    def _read(self) -> None:
        text = self.path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            match = LINE.fullmatch(line)
            if not match and not line.startswith("#"):
                raise Died(f"{self.path}:{number}: not 'CODE SEED right|wrong WHAT': {line[:60]!a}; remove the line")
            if match and line.startswith(self.code):
                self.lines[int(match["seed"])] = line

    def add(self, seed: int, right: bool, what: str) -> None:
        """A run has ended; what was run, and how it was wrong, in one line."""
        line = f"{self.code} {seed} {'right' if right else 'wrong'} {what}"
        self.lines[seed] = line
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def wrong(self) -> list[str]:
        """The lines of runs that were wrong."""
        return [line for line in self.lines.values() if line.split()[2] == "wrong"]
