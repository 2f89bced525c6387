# SPDX-License-Identifier: GPL-2.0-or-later
"""What of our new files is there after each patch of a series, and of what hooks change in a file of the source. The
files of this repository are the last step; steps/SERIES.toml says by names what comes when. A [[step]] has

patch   the patch of hooks whose message is the step's, by its name without the number; or
message a file of lab/series/messages
new     files that begin to exist, or to change, each with all that no step claims
items   FILE = names of top-level items that come with this step: functions with their comments, structs, tables,
        macros, groups of prototypes
lines   FILE = regular expressions: the whole lines that a match covers come with this step; "*": of any file
before  FILE = pairs of a text and of what stood in its place until this step
A later series may also change files of an earlier one. An expression or a text that begins with "?" is of one base's
hooks alone; any other must be there.

A source in meson.build, an #include and prototypes under a comment wait for the file that they name."""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.building.qemu_tree import NEW
from lab.common.places import LAB
from lab.common.say import Died

STEPS = LAB / "series/steps"
# Those whose new files come in steps, and the folders all of whose files come with it.
SERIES = {"2-pmu": ("count", "pmu"), "3-lwp": ("lwp",), "4-user": ("linux-user", "user")}
OF_ONE_BASE = "?"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
# What is left where lines are not there yet: blank lines in pairs, and at the edge of a block.
GAPS = ((re.compile(r"\n{3,}"), "\n\n"), (re.compile(r"\{\n\n"), "{\n"), (re.compile(r"\n\n(?=\s*\}|$)"), "\n"))


@dataclass(frozen=True)
class Step:
    """A patch of a series."""

    patch: str = ""
    message: str = ""
    new: Sequence[str] = ()
    items: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    before: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)


def read(series: str) -> list[Step]:
    """The steps of a series, in order."""
    with (STEPS / f"{series}.toml").open("rb") as text:
        return [Step(**step) for step in tomllib.load(text)["step"]]


def place(name: str) -> str:
    """Where a file lies in QEMU that steps call by its folder of qemu-patches."""
    folder, _, rest = name.partition("/")
    return f"{NEW[folder]}/{rest}"


def short(name: str) -> str:
    """The same back, of a file in one of these folders."""
    return "/".join(Path(name).parts[-2:])


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Top-level items, each with the blank line before it and the number of its first line."""
    first = 0
    for block in re.split(r"\n(?=\n[^\s}])", text):
        yield first, block
        first += block.count("\n") + 1


def _declares(block: str, name: str) -> bool:
    head = COMMENT.sub("", block).partition("{")[0].rstrip()
    return bool(re.search(rf"#define {name}\b|SECTION\(\s*{name},|\b{name}\s*(?:[(\[=;]|$)", head))


class File:
    """A new file at each step. name: as steps call it."""

    def __init__(self, name: str, text: str, steps: Sequence[Step]):
        self.name, self.text, self.steps = name, text, steps
        begins = [number for number, step in enumerate(steps) if name in step.new]
        if len(begins) != 1:
            raise self._wrong(f"begins in {len(begins)} steps, not in one")
        self.begin = begins[0]
        self._comes = [self.begin] * len(text.splitlines())
        for number, step in enumerate(steps):
            for other in step.new:
                self._wait(number, other.rpartition("/")[2])
            for item in step.items.get(name, ()):
                self._item(number, item)
            for pattern in step.lines.get(name, ()):
                if not self._lines(number, pattern.removeprefix(OF_ONE_BASE)) and not pattern.startswith(OF_ONE_BASE):
                    raise self._wrong(f"no line is like '{pattern}'")
            for pattern in step.lines.get("*", ()):
                self._lines(number, pattern)

    def _wrong(self, what: str) -> Died:
        return Died(f"steps of the series: {self.name}: {what}")

    def _claim(self, number: int, first: int, last: int) -> None:
        for line in range(first, last + 1):
            self._comes[line] = max(self._comes[line], number)

    def _item(self, number: int, item: str) -> None:
        found = [(first, block) for first, block in _blocks(self.text) if _declares(block, item)]
        if len(found) != 1:
            raise self._wrong(f"{len(found)} items are called {item}, not one")
        [(first, block)] = found
        self._claim(number, first, first + block.rstrip("\n").count("\n"))

    def _lines(self, number: int, pattern: str) -> bool:
        found = list(re.finditer(pattern, self.text, re.MULTILINE))
        for match in found:
            first = self.text.count("\n", 0, match.start())
            self._claim(number, first, first + match[0].rstrip("\n").count("\n"))
        return bool(found)

    def _wait(self, number: int, other: str) -> None:
        name = re.escape(other)
        self._lines(number, rf"""^(?:  '{name}',|#include "(?:[\w/-]*/)?{name}")$""")
        self._lines(number, rf"^/\*[^\n]* {name}\b[^\n]*(?:\n[^\n]+)*")

    def at(self, number: int) -> str | None:
        """Its text after a step; None: it is not there yet."""
        if number < self.begin:
            return None
        kept = zip(self.text.splitlines(keepends=True), self._comes, strict=True)
        text = "".join(line for line, comes in kept if comes <= number)
        if text != self.text:
            for gap, instead in GAPS:
                text = gap.sub(instead, text)
        return self._as_before(text, number)

    def _as_before(self, text: str, number: int) -> str:
        """Texts stand there instead of those of later steps."""
        for later in range(len(self.steps) - 1, number - 1, -1):
            for claim, until in self.steps[later].before.get(self.name, ()):
                now = claim.removeprefix(OF_ONE_BASE)
                if later > number:
                    text = text.replace(now, until)
                elif text.count(now) != 1 and claim == now:
                    raise self._wrong(f"'{now}' is there {text.count(now)} times after its step, not once")
        return text


class Change(File):
    """A file of the source at each step. What its hooks add comes as in a new file; what they take away goes with the
    first line that comes in its place. hunks: as `git diff -U0` has them."""

    def __init__(self, name: str, before: str, text: str, hunks: str, steps: Sequence[Step]):
        super().__init__(name, text, steps)
        self._before = before.splitlines(keepends=True)
        self._hunks = [
            (int(first) - (count != "0"), int(count or 1), int(new) - (many != "0"), int(many or 1))
            for first, count, new, many in HUNK.findall(hunks)
        ]
        for _, _, new, many in self._hunks:
            self._empty_lines(text.splitlines()[new:new + many], new)

    def _empty_lines(self, added: Sequence[str], new: int) -> None:
        """They come with what follows in their hunk, at its end with what is before."""
        filled = [number for number, line in enumerate(added) if line]
        for number in range(len(added) if filled else 0):
            nearest = next((other for other in filled if other >= number), filled[-1])
            self._comes[new + number] = self._comes[new + nearest]

    def at(self, number: int) -> str | None:
        if number < self.begin:
            return None
        now, text, at = self.text.splitlines(keepends=True), [], 0
        for first, count, new, many in self._hunks:
            comes = self._comes[new:new + many]
            text += now[at:new]
            if [*comes, self.begin][0] > number:
                text += self._before[first:first + count]
            text += [line for line, step in zip(now[new:new + many], comes, strict=True) if step <= number]
            at = new + many
        return self._as_before("".join([*text, *now[at:]]), number)


class Plan:
    """The steps of a series for QEMU. new: our new files by their place there; patches: its hooks."""

    def __init__(self, series: str, new: Mapping[str, Path], patches: Sequence[Path]):
        self.steps = read(series)
        every = {name: read(name) for name in SERIES}
        self._first = sum(len(every[name]) for name in itertools.takewhile(lambda name: name != series, SERIES))
        self.hooks = {patch.stem.partition("-")[2]: patch for patch in patches}
        if (named := [step.patch for step in self.steps if step.patch]) != list(self.hooks):
            wrong = sorted(set(named) ^ set(self.hooks)) or ["the order"]
            raise Died(f"{STEPS / series}.toml: patches there and of the series differ: {' '.join(wrong)}")
        steps = [step for some in every.values() for step in some]
        names = {name for step in steps for name in step.new}
        folders = tuple(f"{NEW[folder]}/" for some in SERIES.values() for folder in some)
        names |= {short(name) for name in new if name.startswith(folders)}
        texts = {name: new[place(name)].read_text(encoding="utf-8") for name in names}
        self.files = {place(name): File(name, text, steps) for name, text in texts.items()}
        self._last = len(steps) - 1

    def at(self, file: File, number: int) -> str | None:
        """The text of one of the files after a step of this series; None: it is not there yet."""
        text = file.at(self._first + number)
        assert self._first + number < self._last or text == file.text, file.name
        return text

    def write(self, number: int, tree: Path) -> None:
        """What is new after a step."""
        for name, file in self.files.items():
            text = self.at(file, number)
            if text is not None:
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_text(text, encoding="utf-8")
