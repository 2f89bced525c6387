# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a git repository in which the patches of a base can be edited: the source without them (the tag pristine), a
commit for each patch, and the new files as the last commit. A commit == FOLDER == begins each folder of patches.

  git rebase -i pristine       change, add, drop or sort commits
  git commit --fixup=COMMIT    then `git rebase -i pristine` puts a change into its patch
  ./vlwp patch save BASE       write the patches back"""

import argparse
import shutil
from pathlib import Path
from subprocess import CalledProcessError

from lab.building import deps
from lab.common.say import Died, say
from lab.common.steps import build_lock, step
from lab.patch import kinds
from lab.patch.kinds import Series
from lab.patch.repo import PRISTINE, Repo
from lab.series.tree import Author, author

NEW_FILES = "new files"
MAIL = """From {zeros} Mon Sep 17 00:00:00 2001
From: {who.name} <{who.email}>
Date: Thu, 1 Jan 1970 00:00:00 +0000
Subject: [PATCH] {title}

---
diff --git a/{file} b/{file}
new file mode 100644
--- /dev/null
+++ b/{file}
@@ -0,0 +1 @@
+The patches of this folder follow. This commit has to stay.
"""
MARKERS = ".vlwp"  # where such commits have a file


def marker(name: str) -> str:
    """The subject of a commit that is no patch."""
    return f"== {name} =="


def add_options(parser: argparse.ArgumentParser) -> None:
    """The argument that all commands of patch have."""
    known = ", ".join(kinds.names())
    parser.add_argument("base", metavar="BASE", help=f"{', '.join(kinds.KINDS)} (the default ones), {known}")


def main(args: argparse.Namespace) -> int:
    name = kinds.full_name(args.base)
    status = kinds.again(name, ["edit", name])
    if status is not None:
        return status
    deps.ensure()
    it = kinds.of(name)
    with build_lock(f"edit-{name}"):
        make(it, it.pristine(), author())
    say(f"{it.repo.place}: {len(it.repo.log(f'{PRISTINE}..'))} commits; then './vlwp patch save {name}'")
    return 0


def make(it: Series, pristine: Path, who: Author) -> None:
    """The repository, in place of one in which nothing is that was not saved."""
    repo = it.repo
    if repo.place.exists() and not repo.saved():
        raise Died(f"{repo.place}: has changes that are not saved: './vlwp patch save {it.name}', or remove the folder")
    shutil.rmtree(repo.place, ignore_errors=True)

    def start() -> None:
        repo.create(who)
        repo.git("tag", PRISTINE, repo.snapshot(pristine, pristine.name))
        repo.git("reset", "-q", "--hard", PRISTINE)

    step(f"putting {pristine.name} under git", f"edit-{it.name}", lambda _: start(), about=15)
    (repo.dir / "sources").write_text(it.sources(repo.place), encoding="utf-8")
    queue = repo.dir / "queue"
    queue.write_text("".join([*_patches(it, who), _new_files(it, repo, pristine, who)]), encoding="utf-8")
    options = ["-q", "-3", "--keep-non-patch", "--whitespace=nowarn"]
    try:
        repo.git("am", *options, queue)
    except CalledProcessError as err:
        what = (repo.dir / "rebase-apply/final-commit").read_text(encoding="utf-8").splitlines()[0]
        raise Died(
            f"'{what}' does not apply to {pristine.name}: in {repo.place} make it apply, 'git add' and "
            f"'git am --continue'; then './vlwp patch save {it.name}'"
        ) from err
    repo.set_saved(it.sources(repo.place))


def _patches(it: Series, who: Author) -> list[str]:
    """All patches as mails, and one more that begins each folder."""
    texts: list[str] = []
    for folder in it.folders:
        if len(it.folders) > 1:
            file = f"{MARKERS}/{folder.name}"
            texts.append(MAIL.format(zeros="0" * 40, who=who, title=marker(folder.name), file=file))
        texts += folder.texts().values()
    return texts


def _new_files(it: Series, repo: Repo, pristine: Path, who: Author) -> str:
    """The new files as a mail; "" if there are none."""
    files = it.files(pristine)
    for name, source in files.items():
        (repo.place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, repo.place / name)
    if not files:
        return ""
    repo.git("add", "-A", "-f", "--", *files)
    repo.git("commit", "-q", "-m", marker(NEW_FILES))
    mail = repo.git("format-patch", "-1", "--stdout", "--no-signature", "--full-index", "--binary")
    repo.git("reset", "-q", "--hard", PRISTINE)
    return mail
