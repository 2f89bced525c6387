# SPDX-License-Identifier: GPL-2.0-or-later
"""deps.sh with programs of its own in the places of dpkg-query, sudo and apt-get: all packages are missing."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.common.places import LAB

USER = 65534  # an ordinary one


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A checkout."""
    top = tmp_path / "top"
    (top / "lab/building").mkdir(parents=True)
    for name in ("deps.sh", "packages.sh"):
        shutil.copy(LAB / "building" / name, top / "lab/building")
    program(top, "dpkg-query", "exit 0")
    return top


def program(top: Path, name: str, script: str) -> None:
    """A program that is found before that of the machine."""
    place = top / "bin" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    place.chmod(0o755)


def deps(top: Path, *before: str, options: Sequence[str] = (), status: int = 1) -> str:
    """What deps.sh says; it fails unless status says otherwise."""
    env = {"PATH": f"{top}/bin:{os.environ['PATH']}"}
    argv = [*before, str(top / "lab/building/deps.sh"), *options]
    run = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert run.returncode == status
    return run.stderr


def test_what_runs_needs_less_than_the_tests(top: Path) -> None:
    """The tests' packages are asked for by name, besides those of `run`."""
    program(top, "apt-get", "exit 1")
    told = (deps(top), deps(top, options=["--tests"]))
    listed = [set(text.partition("missing packages: ")[2].partition("\n")[0].split()) for text in told]
    assert {"gcc", "seabios", "libdw-dev"} < listed[0] < listed[1]
    assert {"clang", "rr", "valgrind", "default-jdk-headless", "qemu-system-x86"} <= listed[1] - listed[0]


def test_elsewhere_programs_count(top: Path) -> None:
    """On a machine that is no Debian 12 or 13: what is not there is named, and nothing is installed."""
    program(top, "dpkg", "exit 1")
    program(top, "pkg-config", '[ "$2" != slirp ] && [ "$2" != libdw ]')
    program(top, "protoc-c", "exit 0")
    for name in ("ninja", "meson", "modprobe", "depmod"):
        program(top, name, "exit 0")
    told = deps(top)
    assert told == "vlwp: this machine is no Debian 12 or 13, and lacks: slirp libdw (docs/install.md)\n"
    program(top, "pkg-config", "exit 0")
    assert deps(top, status=0) == ""


def test_a_refused_sudo_is_called_that(top: Path) -> None:
    """And nothing is written."""
    program(top, "sudo", "echo 'sudo: a password is required' >&2; exit 1")
    for folder in list(top.parents)[:3]:
        folder.chmod(0o755)
    user = [] if os.geteuid() else ["setpriv", f"--reuid={USER}", "--clear-groups"]
    told = deps(top, *user)
    assert "sudo refuses (sudo: a password is required): have root run './vlwp deps' once" in told
    assert told.count("\n") == 1 and not (top / "build").exists()


def test_the_network_is_named_if_it_was_it(top: Path) -> None:
    """Not for an expired list or a broken package."""
    program(top, "sudo", '[ "$*" = "env true" ] || exec "$@"')
    for error, network in (("Failed to fetch http://x", True), ("Release file is expired", False)):
        program(top, "apt-get", f"echo 'E: {error}'; exit 100")
        told = deps(top)
        assert f"reading the package lists: E: {error} (" in told
        assert ("check the network" in told) == network


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_what_root_makes_is_the_owners_of_the_checkout(top: Path) -> None:
    """So that the user can build after root has installed."""
    program(top, "apt-get", "exit 1")
    os.chown(top, USER, USER)
    deps(top)
    for place in (top / "build", top / "build/log"):
        assert place.stat().st_uid == USER
