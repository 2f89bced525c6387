# SPDX-License-Identifier: GPL-2.0-or-later
"""Write back what './vlwp patch edit BASE' made and somebody has changed: the commits to the patch files, the new files
to where they come from. Patches are added, dropped, sorted and renamed with their commits. The patches of other bases
follow those of the default base where the change fits."""

import argparse
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

from lab.building import overlay, qemu_tree
from lab.building.patches import Folder, Texts
from lab.common.places import TOP
from lab.common.say import Died, say
from lab.common.steps import build_lock
from lab.patch import edit, kinds
from lab.patch.kinds import Series
from lab.patch.repo import BEFORE, PRISTINE, Repo

add_options = edit.add_options
# What makes a patch's text the same whoever writes it, with no more of what is around a change than finds its place:
# bases differ there.
FORM = ("--stdout", "-U2", "--no-signature", "--no-numbered", "--no-renames", "--diff-algorithm=myers", "--no-attach")
MAIL = re.compile(r"^From ([0-9a-f]{40}) (?=Mon Sep 17 00:00:00 2001$)", re.MULTILINE)
INDEX = re.compile(r"^index [0-9a-f]+\.\.[0-9a-f]+( \d+)?\n", re.MULTILINE)


@dataclass(frozen=True)
class Commit:
    """A patch."""

    commit: str
    slug: str  # its subject, with dashes
    text: str


def main(args: argparse.Namespace) -> int:
    name = kinds.full_name(args.base)
    status = kinds.again(name, ["save", name])
    if status is not None:
        return status
    it = kinds.of(name)
    with build_lock(f"edit-{name}"):
        changed = save(it)
    for file in changed:
        print(f"{'written' if file.exists() else 'removed'}: {file.relative_to(TOP)}")
    if not changed:
        say(f"patch save: nothing of {name} has changed")
    return 0


def save(it: Series) -> list[Path]:
    """Write everything. Result: the files that have changed."""
    repo = it.repo
    _check(it, repo)
    commits = repo.log(f"{PRISTINE}..")
    ours, late = _split(it, repo, commits)
    files = _new_files(it, repo, late)
    wanted = _by_folder(it, repo, ours, set(files))
    before = [(one.texts(), [other.folders[n].texts() for other in it.others]) for n, one in enumerate(it.folders)]
    changed = [path for folder in it.folders for path in _store(repo, folder, wanted[folder.name])]
    moved = repo.able("rev-parse", "-q", "--verify", BEFORE)
    for n, (texts, of_others) in enumerate(before):
        for other, mine in zip(it.others, of_others, strict=True):
            changed += _follow(other, other.folders[n], texts, mine, moved)
    own = {name: it.mine.get(name, path) for name, path in files.items()}
    changed += [own[name] for name, path in files.items() if _put(repo.place / name, path, own[name])]
    repo.set_saved(it.sources(repo.place))
    repo.able("tag", "-d", BEFORE)
    return changed


def _follow(other: Series, folder: Folder, before: Texts, mine: Texts, moved: bool) -> list[Path]:
    """Let another base's patches follow those of the default base; say which do not."""
    changed, kept = folder.follow(before, mine, moved) if folder.own else ([], [])
    for name in kept:
        say(f"{other.name}: {name} keeps its text, the change does not fit: './vlwp patch edit {other.name}'")
    return changed


def _check(it: Series, repo: Repo) -> None:
    """Is there something whole to save?"""
    if not repo.dir.is_dir():
        raise Died(f"patch save: nobody edits {it.name}: './vlwp patch edit {it.name}' begins")
    if changed := repo.changed_since(it.sources(repo.place)):
        raise Died(f"{changed} has changed since 'patch edit': undo that, or move {repo.place} away and edit again")
    if what := repo.under_way():
        raise Died(f"{repo.place}: git {what} has not ended: 'git {what} --continue' or '--abort' there first")
    if dirty := repo.dirty():
        raise Died(f"{repo.place}: not committed: {' '.join(dirty[:5])}: 'git commit', or 'git commit --amend', first")
    on_it = repo.able("merge-base", "--is-ancestor", PRISTINE, "HEAD")
    if not on_it or repo.git("rev-list", "--merges", f"{PRISTINE}.."):
        raise Died(f"{repo.place}: the branch must be a line of commits on the tag {PRISTINE}, without merges")


def _split(it: Series, repo: Repo, commits: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], set[str]]:
    """The commits before the new files, and the files that the others change, which must be new ones."""
    subjects = [subject for _, subject in commits]
    last = edit.marker(edit.NEW_FILES)
    if not it.homes:
        return commits, set()
    if last not in subjects:
        raise Died(f"{repo.place}: the commit '{last}' is gone: 'git reflog' has it")
    at = subjects.index(last)
    before = repo.files(f"{commits[at][0]}^")
    names = set(repo.git("diff", "-z", "--name-only", f"{commits[at][0]}^", "HEAD").split("\0")) - {""}
    old = sorted((names & before) - it.files(repo.place).keys())
    if old:
        raise Died(f"{repo.place}: {old[0]} is no new file: its change belongs into a commit before '{last}'")
    return commits[:at], names


def _new_files(it: Series, repo: Repo, late: set[str]) -> dict[str, Path]:
    """Where the new files go that are changed, added or removed."""
    known, found = it.files(repo.place), dict[str, Path]()
    for name in sorted(late | known.keys()):
        place = known.get(name) or it.home(name)
        if not place:
            raise Died(f"{repo.place}: no folder here is for new files such as {name}")
        found[name] = place
    return found


def _put(source: Path, file: Path, own: Path) -> bool:
    """Copy a new file back, or remove it; own: where the base's own is. Has it changed?"""
    if not source.is_file():
        there = file.is_file()
        file.unlink(missing_ok=True)
        return there
    if file.is_file() and file.read_bytes() == source.read_bytes():
        return False
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_bytes(source.read_bytes())
    return True


def canonical(mail: str) -> str:
    """A patch as it is kept: without statistics and the ids of blobs, which change with every patch before it."""
    head, separator, rest = mail.partition("\ndiff --git ")
    head = re.sub(r"(\n---\n[^\0]*)?\Z", "\n---", head.rstrip("\n"), count=1)
    return MAIL.sub(f"From {'0' * 40} ", INDEX.sub("", f"{head}{separator}{rest.rstrip(chr(10))}\n"))


def _mails(repo: Repo, without: set[str]) -> Iterator[tuple[str, str]]:
    """The commits that change something else than these files, and their patches."""
    paths = ["--", ".", f":(exclude,top){edit.MARKERS}", *(f":(exclude,top,literal){name}" for name in sorted(without))]
    _, *parts = MAIL.split(repo.git("format-patch", *FORM, PRISTINE, *paths))
    for commit, mail in zip(parts[::2], parts[1::2], strict=True):
        yield commit, canonical(f"From {commit} {mail}")


def _by_folder(it: Series, repo: Repo, commits: list[tuple[str, str]], new: set[str]) -> dict[str, list[Commit]]:
    """The patches of each folder."""
    mails = dict(_mails(repo, new))
    slugs = dict(line.split(" ", 1) for line in repo.git("log", "--format=%H %f", f"{PRISTINE}..").splitlines())
    markers = {edit.marker(folder.name): folder.name for folder in it.folders} if len(it.folders) > 1 else {}
    found: dict[str, list[Commit]] = {folder.name: [] for folder in it.folders}
    where = "" if markers else it.folders[0].name
    for commit, subject in commits:
        if subject in markers:
            where = markers[subject]
            del markers[subject]
        elif commit in mails and not where:
            raise Died(f"{repo.place}: '{subject}' stands before the first folder: 'git rebase -i {PRISTINE}' sorts it")
        elif commit in mails:
            found[where].append(Commit(commit, slugs[commit], mails[commit]))
    if markers:
        raise Died(f"{repo.place}: the commit '{next(iter(markers))}' is gone: 'git reflog' has it")
    return found


def _store(repo: Repo, folder: Folder, commits: list[Commit]) -> list[Path]:
    """Write a folder. A patch that is a difference has places from the default base's; where these are wrong it is
    written as a whole."""
    patches = [(commit.slug, commit.text) for commit in commits]
    changed = folder.store(patches)
    if folder.own:
        with tempfile.TemporaryDirectory() as work:
            files = folder.files(Path(work, "files"))
            wrong = {f.name for f, one in zip(files, commits, strict=True) if not _in_place(repo, f, one.commit, work)}
        changed += folder.store(patches, wrong) if wrong else []
    return changed


def _in_place(repo: Repo, file: Path, commit: str, work: str) -> bool:
    """Do git and the program patch make of a commit's parent with a patch what the commit has?"""
    source, stage, index = Path(work, commit, "source"), Path(work, commit, "stage"), Path(work, "index")
    for name in qemu_tree.changed_files(file):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(repo.show(f"{commit}^", name))
    stage.mkdir()
    repo.git("read-tree", f"{commit}^", index=index)
    try:
        repo.git("apply", "--cached", file, index=index)
        with open(os.devnull, "w", encoding="utf-8") as log:
            qemu_tree.apply([file], source, stage, log)
    except (CalledProcessError, Died):
        return False
    same = repo.git("write-tree", index=index) == repo.git("rev-parse", f"{commit}^{{tree}}")
    return same and all((stage / name).read_bytes() == repo.show(commit, name) for name in overlay.names(stage))
