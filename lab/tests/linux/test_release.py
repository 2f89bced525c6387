# SPDX-License-Identifier: GPL-2.0-or-later
"""The release file's tree, where neither this tree nor a Python is there."""

import json
import os
from pathlib import Path

import pytest

from lab.building import tools
from lab.common import places, proc
from lab.start import release_file
from lab.tests.conftest import Ended, good, run
from lab.tests.linux.tools import VLWP

# In name spaces of its own: build, Python and libraries that a machine may not have are empty.
HIDING = """
for place in "$0" /usr/lib/python3*; do mount -t tmpfs none "$place"; done
for file in "$1" /usr/lib/x86_64-linux-gnu/libglib-2.0.so.0; do mount --bind /dev/null "$file"; done
shift; cd /; exec "$@"
"""
PROGRAM = ("sh", "-c", "cat /etc/passwd | sort >/dev/null")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `tar xf` leaves it."""
    tools.build_static()
    place = tmp_path_factory.mktemp("release") / release_file.NAME
    release_file.lay_out(place)
    return place


def alone(tree: Path, *words: proc.Word, name: str = "vlwp", **variables: str) -> Ended:
    """Run a command of it without this tree, this machine's Python and a home."""
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    environment = {"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": f"{tree.parent}/cache", **variables}
    own: list[proc.Word] = ["env", "-i", *(f"{key}={value}" for key, value in environment.items()), tree / name]
    hidden = [places.BUILD, Path(places.PYTHON).resolve()]
    return run(["unshare", "--mount", *root, "sh", "-euc", HIDING, *hidden, *own, *words])


@pytest.mark.xdist_group("release")
def test_release_counts_the_same(tree: Path) -> None:
    """As this tree does; the machine is not called local there."""
    ours = json.loads(good([VLWP, "count", "--json", "--", *PROGRAM], cwd="/"))
    ended = alone(tree, "count", "--json", "--", *PROGRAM)
    assert ended.status == 0, ended.err
    theirs = json.loads(ended.out)
    assert theirs == {**ours, "machine": ours["machine"].replace("-local", "")}


@pytest.mark.xdist_group("release")
def test_release_profiles(tree: Path, tmp_path: Path) -> None:
    """The bundled program, whose functions lwpctl names from the file, too."""
    ended = alone(tree, "run", f"--data={tmp_path}/data")
    assert ended.status == 0 and " hot_crc " in ended.out, ended.err
    assert " hot_crc " in alone(tree, "report", f"{tmp_path}/data", name="lwpctl").out


@pytest.mark.xdist_group("release")
def test_release_has_what_it_offers(tree: Path) -> None:
    """Other commands and bases are refused in one line; there is the page that `count --help` names."""
    assert "docs/count-1.md" in alone(tree, "count", "--help").out and (tree / "docs/count-1.md").is_file()
    offered = [line.split()[0] for line in alone(tree, "help").out.splitlines() if line.startswith("  ")][:4]
    assert offered == ["run", "count", "freeze", "shell"]
    for words, status in ((["test"], 2), (["run", "--base=linux-7.3"], 2)):
        ended = alone(tree, *words)
        assert ended.status == status and len(ended.err.splitlines()) == 1, ended.err


@pytest.mark.xdist_group("release")
def test_release_has_the_kernel(tree: Path) -> None:
    """Another one is refused before the guest starts."""
    ended = alone(tree, "run", VLWP_KERNEL="/boot/vmlinuz")
    assert ended.status == 1 and ended.err.startswith("vlwp: VLWP_KERNEL=/boot/vmlinuz: "), ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.xdist_group("release")
def test_release_cannot_lie_everywhere(tree: Path, tmp_path: Path) -> None:
    """QEMU takes no directory with a comma, nor the loader one with a colon."""
    for name in ("a,b", "a:b", "a b"):
        (tmp_path / name).mkdir()
        good(["cp", tree / "vlwp", tmp_path / name])
        ended = run([tmp_path / name / "vlwp", "help"])
        assert ended.status == 1 and "move this" in ended.err


@pytest.mark.xdist_group("release")
def test_release_same_bytes(tree: Path, tmp_path: Path) -> None:
    """Of what is written at another time, by somebody with another umask."""
    old = os.umask(0o077)
    try:
        release_file.lay_out(tmp_path / release_file.NAME)
    finally:
        os.umask(old)
    for number, place in enumerate((tree, tmp_path / release_file.NAME)):
        next(place.glob("build/count-1/*/memory")).unlink()  # one file, 2 GiB of which have to be looked at
        release_file.pack(place, tmp_path / f"{number}.tar")
    good(["cmp", tmp_path / "0.tar", tmp_path / "1.tar"])
