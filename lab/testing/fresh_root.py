# SPDX-License-Identifier: GPL-2.0-or-later
"""A minimal Debian in a folder, and running commands in it as in a machine of its own."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.common import archive, proc
from lab.common.places import BUILD, LAB, TOP
from lab.common.say import Died, Skip, say
from lab.common.steps import build_lock, fresh, made_whole, make_dir, need_space, stamp, step

SPACE = 9000  # MiB
ENTER = LAB / "testing/enter-root.sh"


def require(what: str) -> None:
    """This machine can make such a root."""
    if os.geteuid():
        raise Skip(f"{what} needs root, to make a Debian system")
    if not shutil.which("mmdebstrap"):
        raise Skip(f"{what} needs mmdebstrap: apt-get install mmdebstrap")
    make_dir(BUILD)
    need_space(SPACE)


def _make(place: Path, suite: str, packages: Sequence[str], more: Sequence[str]) -> list[str]:
    """The command that makes a minimal system with main, security if it is a release, and more suites only, and the
    proxy settings of this machine's apt if it has any. The addresses are those of this machine's own suite."""
    own = archive.debian_codename()
    main, security = archive.archive_address(own), archive.archive_address(f"{own}-security")
    packages = [*packages, "ca-certificates"]
    settings = re.findall(r"^Acquire::https?::Proxy[: ].*", proc.output(["apt-config", "dump"]), re.MULTILINE | re.I)
    return [
        *("unshare", "--mount", "mmdebstrap", "--variant=minbase", f"--include={','.join(packages)}"),
        *(f"--aptopt={line}" for line in settings),
        # Snapshots and mirrors keep lists of suites that change daily beyond their dates.
        *(() if suite in archive.RELEASES else ('--aptopt=Acquire::Check-Valid-Until "false"',)),
        *(suite, str(place), f"deb {main} {suite} main"),
        *([f"deb {security} {suite}-security main"] if suite in archive.RELEASES else []),
        *(f"deb {main} {name} main" for name in more),
    ]


@contextmanager
def fresh_root(
    suite: str, packages: Sequence[str] = ("git",), keep: bool = False, more: Sequence[str] = ()
) -> Iterator[Path]:
    """A minimal Debian of a suite, whose apt knows more suites, with a clone of what is committed here in
    /home/vlwp."""
    root = Path(tempfile.mkdtemp(prefix="fresh.", dir=BUILD))
    root.chmod(0o755)
    try:
        step(f"making a minimal {suite}", "fresh-root", _make(root, suite, packages, more), about=60)
        (root / "etc/resolv.conf").unlink(missing_ok=True)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        if proc.call(["git", "clone", "-q", "--no-hardlinks", TOP, root / "home/vlwp"]):
            raise Died(f"{TOP}: cannot clone this repository")
        yield root
    finally:
        if keep:
            say(f"the fresh system is in {root}")
        else:
            proc.call(["rm", "-rf", "--one-file-system", "--", root])


def kept_root(name: str, suite: str, packages: Sequence[str]) -> Path:
    """A minimal Debian with packages that take long to install: made once, and kept."""
    root, key = BUILD / f"root-{name}", hashlib.sha256(repr((suite, packages)).encode()).hexdigest()
    with build_lock(root.name):
        if not (fresh(root.name, key) and root.is_dir()):
            proc.call(["rm", "-rf", "--one-file-system", "--", root])
            with made_whole(root) as new:
                step(f"making a {suite} with {name}", root.name, _make(new, suite, packages, ()), about=500)
            stamp(root.name, key)
    return root


def add_libraries(root: Path, *programs: Path) -> None:
    """The libraries of programs that are built here, which the system has not, or under other names."""
    libraries = proc.output(["ldd", *programs])
    for name in sorted(set(re.findall(r"^\t.* => (/\S+) \(", libraries, re.MULTILINE))):
        if not (root / name.lstrip("/")).exists():
            shutil.copy(name, root / "usr/local/lib")
    proc.output(enter(root, "ldconfig"))


def enter(root: Path, script: str) -> list[str]:
    """The command that runs a shell script in a root as the whole world."""
    name_spaces = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
    return [*name_spaces, str(ENTER), str(root), script]
