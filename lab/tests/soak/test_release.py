# SPDX-License-Identifier: GPL-2.0-or-later
"""The release file and its Debian package in bare systems, and from another build."""

import shutil
from pathlib import Path

import pytest

from lab.common import archive
from lab.common.places import TOP
from lab.start import release_file
from lab.start.release_file import PACKAGE
from lab.testing import fresh_root
from lab.testing.fresh_root import enter
from lab.tests.conftest import good

PLACE = "/release"  # in the bare system
FILE = f"{release_file.NAME}.tar.zst"
SUITES = (*archive.RELEASES, "sid")
# As root, as a user, and as one without a home: each counts, twice, and profiles. Nobody has Python or a compiler.
INSIDE = f"""
PLACE={PLACE} command={PLACE}/{release_file.NAME}/vlwp
useradd --create-home user
useradd --no-create-home --home-dir /nonexistent homeless
if command -v python3 gcc; then exit 1; fi
tar -C "$PLACE" -xf "$PLACE/{FILE}"
cd /
vlwp() {{ # USER NAME=VALUE ARG...: as that user, with his home or another place for what is kept
    user=$1 home=$2
    shift 2
    setpriv --reuid="$user" --regid="$user" --clear-groups --inh-caps=-all \\
        env "$home" "$command" "$@"
}}
for who in "root=HOME=$HOME" user=HOME=/home/user homeless=XDG_CACHE_HOME=/tmp/cache; do
    name=${{who%%=*}} home=${{who#*=}}
    for i in 1 2; do vlwp "$name" "$home" count -- sort /etc/passwd >"/tmp/$name.$i"; done
    cmp "/tmp/$name.1" "/tmp/$name.2"
    cmp /tmp/root.1 "/tmp/$name.1"
    vlwp "$name" "$home" run | grep -w hot_crc
done
if vlwp homeless HOME=/nonexistent count -- true; then exit 1; fi

apt-get install -q -y "$PLACE/{PACKAGE}"
command=/usr/bin/vlwp
vlwp user HOME=/home/user count -- sort /etc/passwd | cmp - /tmp/user.1
vlwp user HOME=/home/user run --data=/tmp/data -- perl -e '$s += $_ for 1 .. 1000000' | grep -w perl
lwpctl report /tmp/data | grep -w perl
apt-get purge -q -y vlwp
if [ -e /usr/lib/vlwp ] || [ -e /usr/bin/vlwp ]; then exit 1; fi
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It and its sources."""
    place = tmp_path_factory.mktemp("release") / "files"
    good([TOP / "vlwp", "package", "--release", place])
    return place / FILE


@pytest.mark.soak
@pytest.mark.xdist_group("release")
@pytest.mark.parametrize("suite", SUITES)
def test_release_in(suite: str, file: Path) -> None:
    """Three users of a bare system count the same twice, and profile; one of them with the package, too, which leaves
    nothing behind."""
    fresh_root.require("soak release")
    with fresh_root.fresh_root(suite, ("perl-base", "zstd")) as root:
        (root / PLACE.lstrip("/")).mkdir(mode=0o755)
        for name in (FILE, PACKAGE):
            shutil.copy(file.with_name(name), root / PLACE.lstrip("/"))
        good(enter(root, INSIDE))


@pytest.mark.soak
@pytest.mark.xdist_group("release")
def test_release_built_twice(file: Path, tmp_path: Path) -> None:
    """A clone of this commit gives the same bytes."""
    good(["git", "clone", "-q", TOP, tmp_path / "clone"])
    good(["env", "-u", "VLWP_BUILD_DIR", tmp_path / "clone/vlwp", "package", "--release", tmp_path / "files"])
    for name in (FILE, PACKAGE):
        good(["cmp", file.with_name(name), tmp_path / "files" / name])
