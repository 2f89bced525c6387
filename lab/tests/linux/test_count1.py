# SPDX-License-Identifier: GPL-2.0-or-later
"""count-1 runs the same twice."""

import re
import socket
import tarfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from lab.common.places import TOP
from lab.common.qmp import PATIENCE
from lab.guest import snapshot
from lab.guest.count1 import Count1
from lab.testing.twice import LWP, differing, frozen_of, seen
from lab.tests.conftest import good, run
from lab.tests.linux.test_programs import judge, program
from lab.tests.linux.tools import VLWP, parted
from lab.tests.plugin import Points

PROGRAM = ("sh", "-c", 'ls /etc/passwd | sort; perl -e "print time, rand(1)"')  # in three processes at once

SLEEPS = ("sh", "-c", "perl -e 'select undef, undef, undef, 0.0003 for 1 .. 9000'; date +%N")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Count1:
    """The machine with the program's files."""
    return frozen_of(tmp_path_factory.mktemp("count1") / "note", LWP, PROGRAM)


@pytest.mark.xdist_group("count1")
def test_count1_same(one: Count1, tmp_path: Path) -> None:
    """Records, counts and output are the same, for another caller in another directory, in other translated blocks,
    too; another seed gives other random numbers."""
    first = seen(one, tmp_path / "first", LWP, PROGRAM)
    other = replace(one, translator=",tb-size=8")
    second = seen(other, tmp_path / "second", LWP, PROGRAM, cwd="/", env={"HOME": "/elsewhere"})
    assert first["status"] == "0" and set(first) == {"lwp.data", "output", "stats", "status"}
    assert differing(first, second) == ""
    assert "output" in differing(first, seen(replace(one, seed=2), tmp_path / "seed", LWP, PROGRAM)).split()


def asked(one: Count1, place: Path) -> dict[str, str]:
    """As seen(), while a monitor asks all the time."""
    door = place.with_suffix(".monitor")
    with socket.socket(socket.AF_UNIX) as listening, ThreadPoolExecutor(1) as pool:
        listening.bind(str(door))
        listening.listen()
        listening.settimeout(PATIENCE)
        result = pool.submit(seen, replace(one, watched=("-qmp", f"unix:{door}")), place, (), SLEEPS)
        command = b"qmp_capabilities"
        with listening.accept()[0] as monitor, suppress(ConnectionError):
            while monitor.recv(65536):
                monitor.sendall(b'{"execute": "%s"}\n' % command)
                command = b"query-status"
        return result.result()


@pytest.mark.xdist_group("count1")
def test_count1_asked(tmp_path: Path) -> None:
    """QEMU's thread of events takes no guest for asleep that is about to be; it is awake because a monitor asks."""
    one = frozen_of(tmp_path / "note", (), SLEEPS)
    first = seen(one, tmp_path / "first", (), SLEEPS)
    assert first["status"] == "0"
    assert differing(first, asked(one, tmp_path / "second")) == ""


@pytest.mark.xdist_group("count1")
def test_count1_capsule(tmp_path: Path) -> None:
    """A capsule has the program and its input; whoever lacks a file of it is told its name in one line."""
    (tmp_path / "lines").write_text("line\n" * 7, encoding="ascii")
    with (tmp_path / "lines").open("rb") as given:
        good([VLWP, "freeze", "-o", tmp_path / "capsule", "--", "wc", "-l"], stdin=given)
    result, rest = parted(good([VLWP, "count", "--json", f"--capsule={tmp_path}/capsule"]))
    assert rest.strip() == "7" and result["runs"][0]["instructions"] > 1000
    assert result["machine"].startswith("count-1-local ")
    less = tmp_path / "less"
    with tarfile.open(tmp_path / "capsule") as whole, tarfile.open(less, "w") as out:
        for info in whole:
            if info.name != "root/usr/bin/wc":
                out.addfile(info, whole.extractfile(info) if info.isreg() else None)
    ended = run([VLWP, "shell", f"--capsule={less}"])
    assert ended.status == 127 and ended.said == "vlwp: the guest cannot run wc: No such file or directory\n"


def test_count1_files(tmp_path: Path) -> None:
    """The machine has a program's files, links and directories as they are here, and notices when one has changed, is
    there that was not, or stands in a directory that was listed."""
    for name in ("b", "d/c", *(f"{at}{'x' * 200}" for at in range(50))):  # three blocks of a directory
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name * 99, encoding="ascii")
    (tmp_path / "link").symlink_to("d/c")
    script = "find . | sort | xargs ls -ld | cut -c1-10; sha256sum -- * link d/*; cat new"

    def both() -> tuple[str, str]:
        ours = run(["sh", "-c", script], cwd=tmp_path, env={"LC_ALL": "C"})
        theirs = run([VLWP, "count", "--env=LC_ALL=C", "--", "sh", "-c", script], cwd=tmp_path)
        return ours.out, theirs.out

    for changed in ("", "", "new", "b", "d/e"):
        if changed:
            (tmp_path / changed).write_text("changed", encoding="ascii")
        ours, theirs = both()
        assert theirs.startswith(ours), "it does not see what is here"


def test_count1_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot whose memory somebody has changed is made again, and is the same."""
    monkeypatch.setattr(snapshot, "PLACE", tmp_path)
    before = snapshot.ensure()
    with before.memory.open("r+b") as file:
        file.seek(1 << 20)
        file.write(b"damaged")
    assert snapshot.ensure() == before and snapshot.hash_of_memory(before.memory) == before.hash


@pytest.mark.xdist_group("count1")
def test_count1_links(points: Points) -> None:
    """Code that is changed, mapped elsewhere or taken away runs, by direct and computed jumps, as it is then."""
    ended = run([VLWP, "shell", "--machine=count-1", "--", program("links")])
    judge(ended.out, ended.status, points)


README_SAYS = re.compile(
    r"([0-9]{6}) (?:instructions )?of\s+Debian [0-9]+'s.*?\((.*?): files ([0-9a-f]{12})\)", re.DOTALL
)


@pytest.mark.xdist_group("count1")
def test_count1_readme() -> None:
    """The number in README is that of this machine, if it has those files."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^    \./vlwp (count -- factor .*)$", text, re.MULTILINE)
    numbers = {files: (number, versions) for number, versions, files in README_SAYS.findall(text)}
    assert command and len(numbers) == 2
    said = run([VLWP, *command[1].split()], cwd="/").said
    found = re.search(r"^all +([0-9]+) ", said, re.MULTILINE)
    files = re.search(r"files ([0-9a-f]{12})$", said, re.MULTILINE)
    assert found and files
    if files[1] not in numbers:
        pytest.skip(f"needs one of these: {'; '.join(versions for _, versions in numbers.values())}")
    assert found[1] == numbers[files[1]][0]
