# SPDX-License-Identifier: GPL-2.0-or-later
"""C sources as tokens, and the definitions at file level: functions, objects, macros, structures,
enumerations. Comments and white space do not count. This is not a parser of C; it knows the style
of this repository, of Linux and of QEMU."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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
WORD = re.compile(r"[A-Za-z_]\w*")
OPEN, CLOSE = frozenset("([{"), frozenset(")]}")
TAGS = frozenset({"struct", "union", "enum"})
ATTRIBUTES = frozenset({"__attribute__", "__aligned", "__printf", "_Alignas", "G_GNUC_PRINTF"})


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


def definitions(found: Sequence[Token]) -> Iterator[Definition]:
    """The definitions at file level, in the order of the text."""
    begin = at = 0
    while at < len(found):
        if found[at].directive and begin == at:
            begin = at = _directive_end(found, at)
            yield from _macro(found, at)
            continue
        at, ended = _next(found, begin, at)
        if ended:
            name = _name(found[begin:at])
            if name:
                yield Definition(name, found[begin:at])
            begin = at


def _directive_end(found: Sequence[Token], at: int) -> int:
    """The index behind the directive that begins here."""
    at += 1
    while at < len(found) and found[at].directive and found[at].text != "#":
        at += 1
    return at


def _macro(found: Sequence[Token], end: int) -> Iterator[Definition]:
    """The macro that the directive before END defines."""
    begin = end - 1
    while found[begin].text != "#":
        begin -= 1
    if end - begin > 2 and found[begin + 1].text == "define":
        yield Definition(found[begin + 2].text, found[begin:end])


def _group_end(found: Sequence[Token], at: int) -> int:
    """The index behind the bracket that closes the one here."""
    depth = 0
    while at < len(found):
        if not found[at].directive:
            depth += (found[at].text in OPEN) - (found[at].text in CLOSE)
        at += 1
        if not depth:
            break
    return at


def _next(found: Sequence[Token], begin: int, at: int) -> tuple[int, bool]:
    """Go over a token or a bracketed group of the declaration that began at BEGIN. Result: the next
    index, and whether the declaration has ended."""
    if found[at].directive or found[at].text not in OPEN:
        return at + 1, found[at].text == ";" and not found[at].directive
    end = _group_end(found, at)
    if found[at].text == "{":
        return end, _is_function(found[begin:at])
    follows = found[end].text if end < len(found) else ";"
    # A macro that stands alone, as type_init(f) does, has no semicolon.
    alone = found[at].text == "(" and at == begin + 1 and follows not in ("{", ";", "=")
    return end, alone


def _is_function(head: Sequence[Token]) -> bool:
    """Is what stands before a brace the head of a function?"""
    shape = [token.text for token in _outside(head)]
    return "(" in shape and "=" not in shape


def _outside(found: Sequence[Token]) -> Iterator[Token]:
    """The tokens outside of all brackets, and the brackets that open; attributes are left out."""
    at = 0
    while at < len(found):
        if found[at].directive:
            at += 1
        elif found[at].text in ATTRIBUTES:
            at = _group_end(found, at + 1)
        else:
            yield found[at]
            at = _group_end(found, at) if found[at].text in OPEN else at + 1


def _name(found: Sequence[Token]) -> str:
    """What a declaration defines, "" if it only declares."""
    shape = [token.text for token in _outside(found)]
    marks = [at for at, text in enumerate(shape) if text in ("{", "=")]
    if not marks:
        return ""
    head = shape[:marks[0]]
    if "(" in head:
        return _called(found, head)
    if shape[marks[0]] == "{" and len(head) > 1 and head[-2] in TAGS:
        return f"{head[-2]} {head[-1]}"
    if "=" not in shape:
        return ""
    plain = [word for word in shape[:shape.index("=")] if WORD.fullmatch(word)]
    return plain[-1] if plain else ""


def _called(found: Sequence[Token], head: Sequence[str]) -> str:
    """The name of a function, or of pointers to functions as in `type (*const name[])(...) = {`."""
    at = next(at for at, token in enumerate(found) if token.text == "(")
    if found[at + 1].text == "*":
        return next(
            token.text
            for token in found[at + 2:]
            if WORD.fullmatch(token.text) and token.text != "const"
        )
    word = head[head.index("(") - 1] if head.index("(") else ""
    return word if WORD.fullmatch(word) else ""


class Source:
    """A file and its definitions."""

    def __init__(self, path: str, text: str):
        self.path, self.text = path, text
        self.definitions: dict[str, list[Definition]] = {}
        for definition in definitions(tokens(text)):
            self.definitions.setdefault(definition.name, []).append(definition)


class Tree:
    """The C files below some folders of a repository, with an index of what they define."""

    def __init__(self, top: Path, folders: Sequence[str]):
        self.sources: list[Source] = []
        for folder in folders:
            for path in sorted((top / folder).rglob("*")):
                name = str(path.relative_to(top))
                if path.suffix in (".c", ".h", ".inc") and not _aside(path.relative_to(top)):
                    self.sources.append(Source(name, path.read_text(encoding="utf-8")))

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
    """Is this a test, a fuzzer or a bench, where no fault is put?"""
    return bool({"tests", "fuzz", "bench"} & set(path.parts))
