# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of all parts share: commands, and machines that end with their test."""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.building import qemu, qemu_tree
from lab.common import bases, places, proc
from lab.common.check import Check
from lab.common.qmp import Vm
from lab.common.steps import build_lock, make_dir

Start = Callable[..., Vm]
OLDER = "9c9e036"  # the commit whose streams this tree takes, and that takes those of this tree


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    status: int  # 128 and the number of the signal that killed it; 124: it was given up
    out: str
    err: str

    @property
    def said(self) -> str:
        """All of it."""
        return self.out + self.err


def run(argv: Sequence[proc.Word], limit: float | None = None, **options: Any) -> Ended:
    """Run a command without input, its output in the test's log."""
    options = {"stdin": subprocess.DEVNULL, "text": True, "errors": "replace", **options}
    child = proc.start(proc.with_us(argv, "TERM"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        out, err = child.communicate(timeout=limit)
        status = proc.wait(child)
    except subprocess.TimeoutExpired:
        proc.end(child)
        out, err = child.communicate()
        status = 124
    except BaseException:
        proc.end(child)
        raise
    print(f"$ {' '.join(map(str, argv))}\n{out}{err}[status {status}]")
    return Ended(status, out, err)


def good(argv: Sequence[proc.Word], **options: Any) -> str:
    """The output of a command that must succeed."""
    ended = run(argv, **options)
    assert ended.status == 0, f"{Path(str(argv[0])).name} ends with status {ended.status}"
    return ended.out


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


@pytest.fixture
def check(tmp_path: Path) -> Iterator[Check]:
    """What functions of the lab work with that a soak calls, too."""
    path = tmp_path / "check.log"
    with path.open("w", encoding="utf-8", errors="replace") as log:
        yield Check(log, tmp_path)
    print(path.read_text(encoding="utf-8", errors="replace"))


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
