# SPDX-License-Identifier: GPL-2.0-or-later
"""Move the patches of a base to another release with git's three-way merge, in a repository as './vlwp patch edit BASE'
makes it, and show what has become of each. './vlwp patch save BASE' writes them back. A base that has no patches of its
own yet gets the default base's."""

import argparse
from pathlib import Path
from subprocess import CalledProcessError

from lab.building import deps
from lab.common.say import Died, say
from lab.common.steps import build_lock
from lab.patch import edit, kinds
from lab.patch.kinds import Series
from lab.patch.repo import BEFORE, BRANCH, PRISTINE
from lab.series.tree import author

OLD = "pristine-before"  # the source until then


def add_options(parser: argparse.ArgumentParser) -> None:
    edit.add_options(parser)
    parser.add_argument("release", metavar="VERSION", help="of Debian's archive, or a tarball or folder")


def main(args: argparse.Namespace) -> int:
    name = kinds.full_name(args.base)
    it = kinds.of(name)
    stands_on = name if it.begun else kinds.full_name(name.partition("-")[0])
    status = kinds.again(stands_on, ["rebase", name, args.release])
    if status is not None:
        return status
    deps.ensure()
    with build_lock(f"edit-{name}"):
        source = it.release(args.release)
        edit.make(it, it.pristine(), author())
        print(rebase(it, source), end="")
    say(f"{it.repo.place}: './vlwp patch save {name}' writes this back")
    return 0


def rebase(it: Series, source: Path) -> str:
    """Put the series on another source. Result: git's range-diff."""
    repo = it.repo
    repo.git("tag", "-f", OLD, PRISTINE)
    repo.git("tag", "-f", BEFORE, BRANCH)
    repo.git("tag", "-f", PRISTINE, repo.snapshot(source, source.name))
    try:
        repo.git("rebase", "-q", "--onto", PRISTINE, OLD)
    except CalledProcessError as err:
        files = " ".join(repo.conflicts())
        raise Died(
            f"{repo.place}: conflicts in {files}: resolve them there, 'git add' and 'git rebase --continue', "
            f"until it has ended; then './vlwp patch save {it.name}'"
        ) from err
    return repo.git("range-diff", "--no-color", f"{OLD}..{BEFORE}", f"{PRISTINE}..{BRANCH}")
