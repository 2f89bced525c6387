# SPDX-License-Identifier: GPL-2.0-or-later
"""The git repository in which somebody edits patches. Git runs without the user's configuration here, and the author of
commits is the series' author, whoever makes them."""

import subprocess
from pathlib import Path

from lab.common import proc
from lab.series.tree import Author

BRANCH, PRISTINE, SAVED = "series", "pristine", "refs/vlwp/saved"
BEFORE = "before"  # the branch before it was put on another source, until it is saved
# Of the repository itself, so that they hold for the user's own git, too.
SETTINGS = {
    "gc.auto": "0",
    "core.looseCompression": "1",
    "core.autocrlf": "false",
    "core.hooksPath": "/dev/null",
    "commit.gpgSign": "false",
    "merge.conflictStyle": "zdiff3",
    "rebase.autoSquash": "true",
    "status.showUntrackedFiles": "all",
}
UNDER_WAY = {"rebase-apply/applying": "am", "rebase-apply": "rebase", "rebase-merge": "rebase"}


class Repo:
    """One at a place, which may not be there yet."""

    def __init__(self, place: Path):
        self.place, self.dir = place, place / ".git"

    def git(self, *words: proc.Word, index: Path | None = None, tree: Path | None = None) -> str:
        """Run git, on another index or another folder if they are named. Result: its output; raises
        subprocess.CalledProcessError."""
        env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
        env |= {"GIT_INDEX_FILE": str(index)} if index else {}
        where: list[proc.Word] = ["--git-dir", self.dir, "--work-tree", tree or self.place]
        return proc.output(["git", *where, *words], env=env, cwd=tree or self.place, stderr=subprocess.PIPE)

    def able(self, *words: proc.Word) -> bool:
        """Run git. Did it succeed?"""
        try:
            self.git(*words)
        except subprocess.CalledProcessError:
            return False
        return True

    def create(self, who: Author) -> None:
        """Make it, empty."""
        self.place.mkdir(parents=True)
        self.git("init", "-q", "-b", BRANCH)
        for name, value in {**SETTINGS, "user.name": who.name, "user.email": who.email}.items():
            self.git("config", name, value)

    def snapshot(self, folder: Path, title: str) -> str:
        """A commit without parents of all that is in a folder."""
        index = self.dir / "snapshot"
        index.unlink(missing_ok=True)
        self.git("add", "-A", "-f", ".", index=index, tree=folder)
        return self.git("commit-tree", "-m", title, self.git("write-tree", index=index).strip()).strip()

    def under_way(self) -> str:
        """What git has begun and not ended: "am", "rebase", "" if nothing."""
        return next((name for file, name in UNDER_WAY.items() if (self.dir / file).exists()), "")

    def dirty(self) -> list[str]:
        """The files that differ from the last commit."""
        return [line[3:] for line in self.git("status", "--porcelain").splitlines()]

    def conflicts(self) -> list[str]:
        """The files that somebody must resolve."""
        return self.git("diff", "--name-only", "--diff-filter=U").splitlines()

    def log(self, revisions: str) -> list[tuple[str, str]]:
        """Commits and their subjects, oldest first."""
        lines = self.git("log", "--reverse", "--format=%H %s", revisions).splitlines()
        return [(line[:40], line[41:]) for line in lines]

    def files(self, revision: str) -> set[str]:
        """The files of a commit."""
        return set(self.git("ls-tree", "-r", "-z", "--name-only", revision).split("\0")) - {""}

    def show(self, revision: str, name: str) -> bytes:
        """A file of a commit."""
        return subprocess.run(
            ["git", "--git-dir", self.dir, "show", f"{revision}:{name}"], check=True, stdout=subprocess.PIPE
        ).stdout

    def set_saved(self, sources: str) -> None:
        """What is there now is in these files of the lab's repository."""
        self.git("update-ref", SAVED, "HEAD")
        (self.dir / "sources").write_text(sources, encoding="utf-8")

    def changed_since(self, sources: str) -> str:
        """One of these files that has changed since, or a patch that is new or gone; "" if there is none. Which new
        files belong to a base that is begun is known only later."""
        texts = ((self.dir / "sources").read_text(encoding="utf-8"), sources)
        then, now = (dict(line.rsplit(" ", 1) for line in text.splitlines()) for text in texts)
        names = [name for name in then.keys() ^ now.keys() if name.endswith((".patch", ".diff"))]
        return min([*names, *(name for name in then.keys() & now.keys() if then[name] != now[name])], default="")

    def saved(self) -> bool:
        """Is nothing there that is not in the patch files?"""
        if self.under_way() or not self.able("rev-parse", "-q", "--verify", SAVED) or self.dirty():
            return False
        return self.git("rev-parse", "HEAD") == self.git("rev-parse", SAVED)
