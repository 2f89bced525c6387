# SPDX-License-Identifier: GPL-2.0-or-later
"""C sources as tokens, and the definitions at file level, as ctags finds them. Comments and white space do not
count. Lines of Python are tokens of the same kinds."""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab.common import proc

SKIPPED = re.compile(r"(?:\s|\\\n|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
TOKEN = re.compile(
    r"""[A-Za-z_]\w*                                    # an identifier or keyword
    |   \.?\d(?:[eEpP][+-]|[\w.])*                      # a number
    |   "(?:\\.|[^"\\\n])*"  |  '(?:\\.|[^'\\\n])*'     # a string, a character
    |   <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\| | \#\#
    |   [-+*/%&|^<>=!]=
    |   .""",
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"(?:\\\n|/\*.*?\*/|[^\n])*", re.DOTALL)  # the rest of its line
OPEN, CLOSE = frozenset("([{"), frozenset(")]}")
C_LIKE = (".c", ".h", ".inc")
# A macro that stands alone, as type_init(f) does, has no semicolon.
CTAGS = ("ctags", "--output-format=json", "--fields=+neK", "--langmap=c:.c.h.inc", "-Itype_init+", "-o", "-")


class Token(NamedTuple):
    """A token, where it lies in the text, and whether it belongs to a preprocessor directive."""

    text: str
    begin: int
    end: int
    directive: bool = False


@dataclass(frozen=True)
class Definition:
    """A definition at file level: its name ("f", "MACRO", "struct s") and all of its tokens."""

    name: str
    tokens: Sequence[Token]

    def find(self, wanted: Sequence[str]) -> list[int]:
        """Where this run of tokens begins, each as an index into the tokens."""
        texts, size = [token.text for token in self.tokens], len(wanted)
        return [at for at in range(len(texts) - size + 1) if texts[at:at + size] == list(wanted)]


def tokens(text: str) -> list[Token]:
    """The tokens of a C source."""
    found: list[Token] = []
    at, until = 0, 0  # until: the end of the directive
    while True:
        space = SKIPPED.match(text, at)
        at = space.end() if space else at
        match = TOKEN.match(text, at)
        if not match:
            return found
        if match[0] == "#" and not text[text.rfind("\n", 0, at) + 1:at].strip():
            line = DIRECTIVE.match(text, at)
            until = line.end() if line else at
        found.append(Token(match[0], at, match.end(), at < until))
        at = match.end()


def words(text: str) -> list[str]:
    """The tokens of a piece of C, without their places."""
    return [token.text for token in tokens(text)]


@dataclass(frozen=True)
class Tag:
    """What ctags says of a definition at file level: its name, and its lines, counted from 1."""

    name: str  # "f", "MACRO", "struct s"
    line: int
    end: int  # 0: ctags does not say


def tags(files: Sequence[Path], also: str = "") -> dict[Path, list[Tag]]:
    """The definitions in C files: functions, objects, macros, structures, unions and enumerations; also: other kinds,
    as ctags calls them."""
    found: dict[Path, list[Tag]] = {}
    for line in proc.output([*CTAGS, f"--kinds-c=dfgsuv{also}", *files]).splitlines() if files else ():
        tag = json.loads(line)
        name = f"{tag['kind']} {tag['name']}" if tag["kind"] in ("struct", "union", "enum") else tag["name"]
        if not tag["name"].startswith("__anon"):
            found.setdefault(Path(tag["path"]), []).append(Tag(name, tag["line"], tag.get("end", 0)))
    return found


def _end(found: Sequence[Token], first: int) -> int:
    """Where a definition ends whose end ctags does not say: after its directive, or its semicolon."""
    at, depth = first + 1, 0
    if found[first].directive:
        while at < len(found) and found[at].directive and found[at].text != "#":
            at += 1
        return at
    while at < len(found) and (depth or found[at - 1].text != ";"):
        depth += (found[at].text in OPEN) - (found[at].text in CLOSE)
        at += 1
    return at


class Source:
    """A file and its definitions."""

    def __init__(self, path: str, text: str, known: Sequence[Tag]):
        self.path, self.text = path, text
        self.definitions: dict[str, list[Definition]] = {}
        found = tokens(text)
        lines = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
        places = [bisect_left(found, line, key=lambda token: token.begin) for line in lines]
        for tag in known:
            first = places[tag.line - 1]
            last = places[tag.end] if tag.end else _end(found, first)
            self.definitions.setdefault(tag.name, []).append(Definition(tag.name, found[first:last]))


def sources(top: Path, files: Sequence[Path]) -> list[Source]:
    """Files, as paths relative to a folder."""
    known = tags([top / file for file in files])
    return [Source(str(file), (top / file).read_text(encoding="utf-8"), known.get(top / file, ())) for file in files]


class Tree:
    """The C files below some folders of a repository, or files, with an index of what they define."""

    def __init__(self, top: Path, folders: Sequence[str]):
        paths = [path.relative_to(top) for folder in folders for path in sorted((top / folder).rglob("*"))]
        paths = [path for path in paths if path.suffix in C_LIKE and not _aside(path)]
        self.sources = sources(top, [*paths, *(Path(folder) for folder in folders if (top / folder).is_file())])

    def where(self, name: str, file: str = "") -> list[tuple[Source, Definition]]:
        """All definitions of a name; FILE is the end of the path of the file that is meant. A name
        of a file means all of it: a table may be a file of macro calls."""
        if "." in name:
            return [
                (source, Definition(name, tokens(source.text)))
                for source in self.sources
                if f"/{source.path}".endswith(f"/{name}")
            ]
        return [
            (source, definition)
            for source in self.sources
            if not file or f"/{source.path}".endswith(f"/{file}")
            for definition in source.definitions.get(name, ())
        ]


def _aside(path: Path) -> bool:
    """Is this a test, a proof, a fuzzer or a bench, where no mutant is put?"""
    return bool({"tests", "fuzz", "proofs", "bench"} & set(path.parts))
