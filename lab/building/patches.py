# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of a base's patches. Those of the default base are files. Another base has a folder of its own with
NAME.diff, which makes its text of the default's NAME.patch; NAME.patch, which stands in place of the default's or which
the default has not; and DROPPED, the default's that it does not need, with reasons.

A diff leaves out what stands in the lines of @@: hunks begin where the default's do, and `patch` and git look for the
place."""

import difflib
import re
import tempfile
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

from lab.common import proc
from lab.common.say import Died

DROPPED, SUFFIX, LONGEST = "dropped", ".patch", 57
OURS = (SUFFIX, ".diff", "")  # the files of a base's own folder
CONTEXT = 1  # lines around what differs
PLACE = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@(.*)$", re.MULTILINE)
HUNK = re.compile(r"^@@\n((?:[ +\\-].*\n|\n)*)", re.MULTILINE)
FILE = re.compile(r"^diff --git ", re.MULTILINE)
Texts = dict[str, str]  # of patches, by the names of their files, in order


def plain(text: str) -> str:
    """A patch without the places of its hunks."""
    return PLACE.sub("@@", text)


def _places(text: str) -> dict[str, list[tuple[str, str]]]:
    """Where the hunks of each file of a patch begin, and what stands after it."""
    parts = FILE.split(text)[1:]
    return {part.partition("\n")[0]: PLACE.findall(part) for part in parts}


def _placed_file(part: str, places: list[tuple[str, str]]) -> str:
    """A file of a patch with places; those of the hunks in the default's patch are known."""
    known, moved, last = iter(places), 0, 2  # in line 1 git wants the file's beginning

    def place(hunk: re.Match[str]) -> str:
        nonlocal moved, last
        lines = hunk[1].splitlines()
        old, new = (sum(line[:1] not in (sign, "\\") for line in lines) for sign in "+-")
        begin, heading = next(known, (last, ""))
        last = int(begin) if old else 0
        at = last + moved + (not old) - (not new)
        moved += new - old
        sizes = ["" if size == 1 else f",{size}" for size in (old, new)]
        return f"@@ -{last}{sizes[0]} +{at}{sizes[1]} @@{heading}\n{hunk[1]}"

    return HUNK.sub(place, part)


def placed(text: str, like: str) -> str:
    """A patch with places, whose hunks begin where those of another one do."""
    places = _places(like)
    head, *parts = FILE.split(text)
    files = [_placed_file(part, places.get(part.partition("\n")[0], [])) for part in parts]
    return "diff --git ".join([head, *files])


def difference(default: str, other: str) -> str:
    """The diff that makes the plain text of another base's patch."""
    old, new = (plain(text).splitlines(keepends=True) for text in (default, other))
    return "".join(difflib.unified_diff(old, new, "default", "here", n=CONTEXT))


def changed(default: str, diff: str) -> str | None:
    """What a diff makes of the default's patch; None: it does not fit."""
    with tempfile.TemporaryDirectory() as work:
        file, result = Path(work, "default"), Path(work, "here")
        file.write_text(plain(default), encoding="utf-8")
        try:
            proc.output(["patch", "-s", "-f", "--fuzz=0", "-o", result, file], input=diff, stdin=None)
        except CalledProcessError:
            return None
        return placed(result.read_text(encoding="utf-8"), default)


def file_name(number: str, slug: str) -> str:
    """As git names the file of a patch; slug: its subject, with dashes."""
    return f"{number}-{slug}"[:LONGEST] + SUFFIX


def _slug(name: str) -> str:
    return name.partition("-")[2].removesuffix(SUFFIX)


@dataclass(frozen=True)
class Folder:
    """A folder of patches: the default base's, and what another base has besides."""

    name: str
    default: Path
    own: Path | None = None

    def _reasons(self) -> dict[str, str]:
        """Why the base does not need a patch, by the subject in its name: the lines NAME: REASON of DROPPED."""
        file = self.own / DROPPED if self.own else None
        lines = file.read_text(encoding="utf-8").splitlines() if file and file.is_file() else []
        return {_slug(name): reason for name, _, reason in (line.partition(": ") for line in lines)}

    def texts(self) -> Texts:
        """The patches of the base."""
        found = _read(self.default)
        for file in sorted(self.own.glob("*.diff")) if self.own else ():
            name = file.stem + SUFFIX
            text = changed(found[name], file.read_text(encoding="utf-8")) if name in found else None
            if text is None:
                raise Died(f"{file}: does not fit {self.default / name}")
            found[name] = text
        dropped = self._reasons()
        return dict(sorted({
            **{name: text for name, text in found.items() if _slug(name) not in dropped},
            **(_read(self.own) if self.own else {}),
        }.items()))

    def files(self, place: Path) -> list[Path]:
        """The patches as files: those of the repository, or written below a folder."""
        return [self._file(name, text, place) for name, text in self.texts().items()]

    def _file(self, name: str, text: str, place: Path) -> Path:
        for file in (folder / name for folder in (self.own, self.default) if folder):
            if file.is_file() and file.read_text(encoding="utf-8") == text:
                return file
        _put(place / self.name, {name: text})
        return place / self.name / name

    def store(self, patches: Sequence[tuple[str, str]], whole: Container[str] = ()) -> list[Path]:
        """Make these the patches of the base; each: the subject with dashes, the text. whole: names of those without
        diffs. Result: the files that have changed."""
        if not self.own:
            names = (file_name(f"{number:04}", slug) for number, (slug, _) in enumerate(patches, 1))
            return _only(self.default, dict(zip(names, (text for _, text in patches), strict=True)), "*.patch")
        default, wanted = _read(self.default), self._named(patches)
        left = [name for name in default if name not in wanted]
        reasons = self._reasons()
        files = {DROPPED: "".join(f"{name}: {reasons.get(_slug(name), 'SAY WHY')}\n" for name in left)} if left else {}
        for name, text in wanted.items():
            if name in whole or name not in default or plain(text) != plain(default[name]):
                diff = difference(default.get(name, ""), text)
                shorter = name in default and name not in whole and diff.count("\n") < text.count("\n")
                files |= {name.removesuffix(SUFFIX) + ".diff": diff} if shorter else {name: text}
        return _only(self.own, files, "*")

    def _named(self, patches: Sequence[tuple[str, str]]) -> Texts:
        """Texts by the name of the default's patch of the same subject. Another gets the number before it, and a
        letter."""
        known = {_slug(name): name for name in _read(self.default)}
        number, wanted = "0000", {}
        for slug, text in patches:
            name = known.get(_slug(file_name("0000", slug)))
            if not name:
                after = f"{number[:4]}{chr(ord(number[4]) + 1)}" if number[4:] else f"{number}a"
                name = file_name(after, slug)
            wanted[name] = text
            number = name.partition("-")[0]
        if list(wanted) != sorted(wanted) or len(wanted) < len(patches):
            raise Died(f"{self.name}: the order of the patches is the default base's: change it there")
        return wanted

    def follow(self, before: Texts, mine: Texts, moved: bool) -> tuple[list[Path], list[str]]:
        """The default's patches have changed: let this base's follow. before, mine: their texts until then. moved: the
        default's are for another source now, the texts stay. Result: the files that have changed; patches that keep the
        text that they had, as the change does not fit."""
        assert self.own
        default, dropped = _read(self.default), self._reasons()
        old, kept = _renamed(default, before), list[str]()
        also = _only_here(before, mine, {was: name for name, was in old.items()})
        wanted = also.get("", [])
        for name, text in default.items():
            was = old.get(name, "")
            if _slug(was) not in dropped:
                same = was in before and (moved or before[was] == text)
                new = mine[was] if same else self._followed(was, text)
                kept += [name] if new is None else []
                wanted.append((_slug(name), mine[was] if new is None else new))
            wanted += also.get(name, [])
        return self.store(wanted), kept

    def _followed(self, was: str, text: str) -> str | None:
        """This base's text of a patch of the default's, which was called so; None: the change does not fit."""
        assert self.own
        diff = self.own / f"{was.removesuffix(SUFFIX)}.diff"
        if diff.is_file():
            return changed(text, diff.read_text(encoding="utf-8"))
        return None if (self.own / was).is_file() else text


def _only_here(before: Texts, mine: Texts, new: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
    """The patches that only another base has, by the default's patch that they come after, as it is called now."""
    after, found = "", dict[str, list[tuple[str, str]]]()
    for name in sorted({*before, *mine}):
        if name in before:
            after = new.get(name, after)
        else:
            found.setdefault(after, []).append((_slug(name), mine[name]))
    return found


def _renamed(now: Iterable[str], before: Iterable[str]) -> dict[str, str]:
    """What patches were called before: the same subject, or, where the others are as many, the same order."""
    subjects = {_slug(name): name for name in before}
    old = {name: subjects[_slug(name)] for name in now if _slug(name) in subjects}
    new, left = ([n for n in names if n not in gone] for names, gone in ((now, old), (before, old.values())))
    return old | (dict(zip(new, left)) if len(new) == len(left) else {})


def _read(folder: Path) -> Texts:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.patch"))}


def _put(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write files that are not so yet. Result: which."""
    folder.mkdir(parents=True, exist_ok=True)
    wrong = [(folder / name, text) for name, text in files.items()]
    wrong = [(file, text) for file, text in wrong if not file.is_file() or file.read_text(encoding="utf-8") != text]
    for file, text in wrong:
        file.write_text(text, encoding="utf-8")
    return [file for file, _ in wrong]


def _only(folder: Path, files: Mapping[str, str], pattern: str) -> list[Path]:
    """Write files, and remove others of a pattern. Result: which have changed."""
    gone = [file for file in sorted(folder.glob(pattern)) if file.suffix in OURS and file.name not in files]
    for file in gone:
        file.unlink()
    return [*gone, *(_put(folder, files) if files else [])]
