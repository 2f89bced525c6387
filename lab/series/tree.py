# SPDX-License-Identifier: GPL-2.0-or-later
"""A source tree under git in which a series is made of commits. Git runs as the series' author, whatever the user's
configuration says."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lab.common import proc
from lab.common.places import LAB, TOP
from lab.common.say import Died, Usage

MESSAGES = LAB / "series/messages"
HOOKS = TOP / "kvm/patches"


@dataclass(frozen=True)
class Author:
    """Whom a series is from, and who signs it off."""

    name: str
    email: str


def author(text: str = "") -> Author:
    """The author in "NAME <EMAIL>"; "": whoever the hooks are from."""
    if not text:
        first = next(HOOKS.glob("0001-*.patch"))
        match = re.search(r"^From: (.*<.*>)$", first.read_text(encoding="utf-8"), re.MULTILINE)
        text = match[1] if match else ""
    match = re.fullmatch(r"([^<>]*[^<> ]) *<([^<> ]+@[^<> ]+)>", text)
    if not match:
        raise Usage(f"export: '{text}' is not like 'Name <name@example.org>'")
    return Author(match[1], match[2])


class Tree:
    """A folder whose present content is the base."""

    def __init__(self, path: Path, who: Author, log: IO[str], title: str = "base", when: str = ""):
        self.path, self.who, self.log = path, who, log
        self.env = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": who.name,
            "GIT_AUTHOR_EMAIL": who.email,
            "GIT_COMMITTER_NAME": who.name,
            "GIT_COMMITTER_EMAIL": who.email,
        }
        self.env |= {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when} if when else {}
        self.git("init", "-q", "-b", "series")
        self.git("add", "-A", "-f", ".")
        self.git("commit", "-q", "-m", title)
        self.git("tag", "base")

    def git(self, *words: proc.Word) -> str:
        """Run git. Result: its output; raises subprocess.CalledProcessError."""
        self.log.flush()
        return proc.output(["git", "-C", self.path, *words], env=self.env, stderr=self.log)

    def commit(self, message: str) -> None:
        """Commit all changes with a message of lab/series/messages."""
        self.git("add", "-A", "-f", ".")
        self.git("commit", "-q", "-s", "-F", MESSAGES / f"{message}.txt")

    def hook(self, patch: Path) -> None:
        """A patch of hooks. Offsets are allowed, fuzz is not."""
        try:
            self.git("am", "-q", patch)
        except subprocess.CalledProcessError as err:
            raise Died(f"{patch.name} does not apply to this source") from err
        self.git("commit", "-q", "--amend", "--reset-author", "-s", "--no-edit")

    def amend(self) -> None:
        """Add all changes to the last commit."""
        self.git("add", "-A", "-f", ".")
        self.git("commit", "-q", "--amend", "--no-edit")

    def add_files(self, place: str, files: Iterable[Path]) -> None:
        """Copy the files that a folder lacks."""
        folder = self.path / place
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            if not (folder / file.name).exists():
                shutil.copy(file, folder)

    def write(self, cover: str, place: Path, since: str = "base") -> None:
        """Write the patches since a tag with a cover letter, whose first line is its subject."""
        place.mkdir(parents=True, exist_ok=True)
        self.git("config", "branch.series.description", cover.rstrip("\n"))
        options = ("--cover-letter", "--cover-from-description=subject", "--no-signature")
        self.git("format-patch", "-q", *options, "-o", place.resolve(), since)
