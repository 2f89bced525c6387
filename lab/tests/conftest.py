# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of all parts share: commands, and machines that end with their test."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab.building import qemu, qemu_tree
from lab.common import bases, places, proc
from lab.common.check import Ended, good, run
from lab.common.qmp import Vm
from lab.common.steps import build_lock, make_dir

__all__ = ["Ended", "good", "run"]
Start = Callable[..., Vm]
OLDER = "9c9e036"  # the commit whose streams this tree takes, and that takes those of this tree


def pytest_runtest_setup(item: pytest.Item) -> None:
    """QEMU without LWP, where it is needed."""
    if item.get_closest_marker("unpatched"):
        qemu.build("base")


@pytest.fixture(scope="session")
def older() -> Path:
    """The QEMU of an older commit, which its own lab builds once, from the source and with the tools that are here."""
    place = places.BUILD / f"older-{OLDER}"
    with build_lock(place.name):
        if not place.is_dir():
            work = place.with_suffix(".new")
            shutil.rmtree(work, ignore_errors=True)
            make_dir(work / "build/stamp")
            if proc.call(["git", "-C", places.TOP, "archive", "-o", work / "tree.tar", OLDER]):
                pytest.skip(f"needs commit {OLDER}, which a full clone has")
            good(["tar", "-C", work, "-xf", work / "tree.tar"])
            for path in (*places.BUILD.glob("tools"), *places.BUILD.glob("stamp/tool-*")):
                good(["cp", "-a", path, work / "build" / path.relative_to(places.BUILD)])
            work.rename(place)
        own = {"VLWP_BUILD_DIR": str(place / "build"), bases.CHOICE: "", qemu_tree.TARBALL: str(qemu_tree.fetch())}
        good([place / "vlwp", "build", "qemu"], env=own)
    return place / "build/qemu/qemu-system-x86_64"


def machine(cpu: str, *words: proc.Word, qemu: Path | None = None, accel: str = "tcg", kind: str = "q35") -> list[str]:
    """A machine with this processor and nothing else."""
    own = ["-accel", accel, "-machine", kind, "-cpu", cpu, "-nodefaults", "-no-user-config", "-display", "none"]
    return proc.words([qemu or places.qemu(), *own, "-L", places.FIRMWARE, *words])


@pytest.fixture
def vm(tmp_path: Path) -> Iterator[Start]:
    """Starts a machine: vm(cpu, word...), or vm(argv=command)."""
    started: list[Vm] = []

    def start(cpu: str = "", *words: proc.Word, argv: Sequence[proc.Word] = (), name: str = "", **options: Any) -> Vm:
        how = {key: options.pop(key) for key in ("qemu", "accel", "kind") if key in options}
        log = tmp_path / f"{name or f'vm{len(started)}'}.log"
        started.append(Vm(argv or machine(cpu, *words, **how), log, **options))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        print(f"{one.log.stem}: {one.said()}")
