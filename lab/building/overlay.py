# SPDX-License-Identifier: GPL-2.0-or-later
"""Source trees that are a pristine one with files laid over it. A file whose content stays keeps its time stamp. A file
that somebody has changed by hand is never overwritten: a listing has the digests of what was written last."""

import filecmp
import fnmatch
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.common.say import Died

Digests = dict[str, set[str]]  # by file; two of a file if a build was interrupted, "" if what was written is not known
NOWHERE = Path("/nonexistent")  # the pristine source of a tree that is laid over as a whole
MADE = ("*.gch/*", "*.pyc")  # what builds leave in a source tree


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "none"


def names(folder: Path) -> set[str]:
    """The files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _read(listing: Path) -> Digests:
    found: Digests = {}
    for line in listing.read_text(encoding="utf-8").splitlines() if listing.is_file() else ():
        name, _, digest = line.partition(" ")
        found.setdefault(name, set()).add(digest)
    return found


def _write(listing: Path, known: Mapping[str, set[str]]) -> None:
    lines = [f"{name} {digest}\n" for name in sorted(known) for digest in sorted(known[name])]
    listing.write_text("".join(lines), encoding="utf-8")


def _refuse(tree: Path, changed: Sequence[str], patched: str) -> None:
    more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
    hint = f"carry it over with './vlwp patch edit {patched}', then remove the file here"
    raise Died(f"{tree / changed[0]}{more}: changed by hand, a build would overwrite it: {hint}")


def lay_over(stage: Path, listing: Path, pristine: Path, tree: Path, patched: str = "") -> None:
    """Make a tree the pristine source with the files of a folder. patched: what ./vlwp patch calls its patches; "": the
    tree is one that programs change, and is not looked at."""
    new: Digests = {name: {_digest(stage / name)} for name in names(stage)}
    known = _read(listing)
    both: Digests = {name: known.get(name, set()) | new.get(name, set()) for name in known.keys() | new.keys()}
    changed = [name for name in sorted(both) if known and _by_hand(name, both[name], pristine, tree)]
    if patched and changed:
        _refuse(tree, changed, patched)
    _write(listing, both)
    for name in both:
        source = next((place / name for place in (stage, pristine) if (place / name).is_file()), None)
        if source is None:
            (tree / name).unlink(missing_ok=True)
        elif not ((tree / name).is_file() and filecmp.cmp(source, tree / name, shallow=False)):
            _copy(source, tree / name)
    _write(listing, new)


def _by_hand(name: str, known: set[str], pristine: Path, tree: Path) -> bool:
    """Is a file neither what was written or shall be, nor pristine?"""
    return "" not in known and _digest(tree / name) not in {"none", _digest(pristine / name), *known}


def _copy(source: Path, file: Path) -> None:
    """Copy a file, wholly or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, file.with_name(f"{file.name}.new"))
    os.replace(file.with_name(f"{file.name}.new"), file)


def check_whole(listing: Path, pristine: Path, tree: Path, patched: str) -> None:
    """Refuse to remove a tree in which somebody has changed or added a file."""
    known = _read(listing)
    changed = [
        name
        for name in sorted(names(tree) if pristine.is_dir() else known)
        if not any(fnmatch.fnmatch(name, made) for made in MADE)
        and not ((pristine / name).is_file() and (tree / name).is_file() and filecmp.cmp(pristine / name, tree / name))
        and _by_hand(name, known.get(name, set()), pristine, tree)
    ]
    if changed:
        _refuse(tree, changed, patched)
