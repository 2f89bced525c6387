# SPDX-License-Identifier: GPL-2.0-or-later
"""Whom the patches of a series are for, as the source's own scripts/get_maintainer.pl says: the file `maintainers`
beside the cover letter. First those of all patches, who get the cover letter; then those of each patch."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.common import proc

FILE = "maintainers"
ALL = "all"
SCRIPT = ("perl", "scripts/get_maintainer.pl", "--no-git", "--no-git-fallback", "--no-rolestats")
LISTS = {"linux": "kvm@vger.kernel.org", "qemu": "qemu-devel@nongnu.org"}


def write(source: Path, series: Path, options: Sequence[str] = ()) -> None:
    """Write the file for the series in a folder."""

    def ask(patch: Path) -> list[str]:
        return proc.output([*SCRIPT, *options, patch.resolve()], cwd=source).splitlines()

    patches = sorted(series.glob("*.patch"))[1:]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(ask, patches))
    everybody = list(dict.fromkeys(address for addresses in found for address in addresses))
    rows = [(ALL, everybody), *((patch.name, addresses) for patch, addresses in zip(patches, found, strict=True))]
    lines = [line for name, addresses in rows for line in (name, *(f"\t{address}" for address in addresses))]
    (series / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(series: Path) -> dict[str, list[str]]:
    """The file of a series."""
    rows: dict[str, list[str]] = {}
    name = ""
    for line in (series / FILE).read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            rows[name].append(line.strip())
        else:
            name = line
            rows[name] = []
    return rows


def complete(work: Path, names: Sequence[str]) -> None:
    """Each patch of each series has maintainers and goes to the project's list, and the cover letter to all of them."""
    for name in names:
        folder = work / "series" / name
        rows = read(folder)
        wanted = [ALL, *(patch.name for patch in sorted(folder.glob("*.patch"))[1:])]
        assert list(rows) == wanted, f"{name}: the patches are {' '.join(rows)}"
        to = LISTS[name.partition("-")[0]]
        left = [patch for patch, addresses in rows.items() if to not in addresses]
        assert not left, f"{name}: not for {to}: {' '.join(left)}"
        union = {address for patch in wanted[1:] for address in rows[patch]}
        assert set(rows[ALL]) == union and len(union) > 1, f"{name}: the cover letter is for others"
        people = {address for address in union if "<" in address}
        assert people, f"{name}: it is for lists only"
        print(name, *sorted(people))
