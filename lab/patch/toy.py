# SPDX-License-Identifier: GPL-2.0-or-later
"""A toy source with two folders of patches, a new file, and a second base, for the tests of ./vlwp patch."""

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

from lab.building.patches import Folder
from lab.patch import edit, save
from lab.patch.kinds import Series
from lab.patch.repo import Repo
from lab.series.tree import Author

WHO = Author("Ann Tester", "ann@example.org")
LINES = [f"line {n}\n" for n in range(1, 41)]
MAIL = """From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: Somebody Else <else@example.org>
Date: Sat, 21 Nov 2026 03:56:47 +0100
Subject: [PATCH] %s

Why.
---
diff --git a/file b/file
--- a/file
+++ b/file
@@ -%d,5 +%d,5 @@%s
%s"""


def patch(subject: str, at: int, lines: list[str] | None = None) -> str:
    """A patch that changes a line of the toy source."""
    old = (lines or LINES)[at - 3:at + 2]
    hunk = [*(f" {line}" for line in old[:2]), f"-{old[2]}", f"+{subject}\n", *(f" {line}" for line in old[3:])]
    heading = f" {(lines or LINES)[at - 4].rstrip()}" if at > 3 else ""
    return MAIL % (subject, at - 2, at - 2, heading, "".join(hunk))


class Toy:
    """The repository, the sources of two bases, and their series."""

    def __init__(self, work: Path):
        self.top, self.pristine = work / "top", work / "toy-1.0"
        self.put("one/0001-first.patch", patch("first", 5))
        self.put("one/0002-second.patch", patch("second", 15))
        self.put("two/0001-third.patch", patch("third", 30))
        self.put("new/new.c", "new\n")
        self.source(self.pristine, LINES)
        folders = tuple(Folder(name, self.top / name) for name in ("one", "two"))
        own = tuple(Folder(name, self.top / name, self.top / "other" / name) for name in ("one", "two"))
        self.base = Series(
            "toy-1", folders, lambda: self.pristine, Path,
            lambda _: {f"new/{file.name}": file for file in (self.top / "new").iterdir()},
            homes=(("new", self.top / "new"),),
        )
        self.other = replace(self.base, name="toy-2", folders=own)
        self.base = replace(self.base, others=(self.other,))

    def put(self, name: str, text: str) -> None:
        """A file of the repository."""
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text, encoding="utf-8")

    @staticmethod
    def source(place: Path, lines: list[str]) -> Path:
        """A source of one file."""
        place.mkdir()
        (place / "file").write_text("".join(lines), encoding="utf-8")
        return place

    @property
    def repo(self) -> Repo:
        """Where the default base is edited."""
        return self.base.repo

    def edit(self) -> None:
        """Begin."""
        edit.make(self.base, self.pristine, WHO)

    def git(self, *words: str, todo: str = "", place: Path | None = None) -> None:
        """As the user, who has a configuration that would be wrong; todo: a sed script for a list of commits."""
        env = {"GIT_CONFIG_GLOBAL": str(self.top / "config"), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
        env |= {"GIT_SEQUENCE_EDITOR": f"sed -i {shlex.quote(todo)}" if todo else "true", "GIT_EDITOR": "true"}
        self.put("config", "[user]\n\tname = Me\n\temail = me@example.org\n[commit]\n\tgpgSign = true\n")
        subprocess.run(["git", "-C", place or self.repo.place, *words], env=env, check=True, capture_output=True)

    def change(self, old: str, new: str, name: str = "file") -> None:
        """Edit a file."""
        file = self.repo.place / name
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    def saved(self) -> list[str]:
        """Save the default base. Result: the files that have changed."""
        return sorted(str(path.relative_to(self.top)) for path in save.save(self.base))

    def texts(self) -> dict[str, str]:
        """All files of the repository."""
        files = (file for file in self.top.rglob("*") if file.is_file() and file.name != "config")
        return {str(file.relative_to(self.top)): file.read_text(encoding="utf-8") for file in files}


def after(subject: str, change: str, commit: str) -> str:
    """A sed script for a list of commits: after one of them change the file (in the words of sed), and commit."""
    return f"/ {subject}$/a exec sed -i {change} file && git commit -q {commit}"


def edited(series: Series, source: Path) -> Path:
    """Where the patches of another base are edited, which begins now."""
    edit.make(series, source, WHO)
    return series.repo.place
