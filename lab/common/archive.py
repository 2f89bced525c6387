# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of suites other than the machine's own: a private apt state below build/apt, whose archive
addresses are those of the machine's apt configuration. The machine's own apt is not touched."""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from lab.common import bases, proc
from lab.common.places import BUILD, DL, LOG, SRC, user_name
from lab.common.say import Died, alive, say
from lab.common.steps import made_whole, make_dir, step

APT_HELPER = "/usr/lib/apt/apt-helper"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
RELEASES = ("bookworm", "trixie")
SUITES = (*RELEASES, "forky", "sid")


def given_version(tarball: Path, pattern: str, wanted: str) -> str:
    """The version in the name of a tarball of the user's, which must be there. wanted: what is said of another name."""
    if not os.access(tarball, os.R_OK):
        raise Died(f"{tarball}: cannot read this tarball")
    match = re.match(pattern, tarball.name)
    if not match:
        raise Died(f"{tarball}: {wanted}")
    return match[1]


def _state() -> Path:
    """apt's own: one for each base, whose suites differ, as another command may have another base at the same time."""
    return BUILD / "apt" / bases.linux_base().suite / bases.qemu_base().suite


def _system() -> tuple[str, str]:
    release = platform.freedesktop_os_release()
    return release.get("ID", "unknown"), release.get("VERSION_CODENAME", "")


def is_debian() -> bool:
    """This machine's apt has what the bases name. Elsewhere the user gives it (docs/install.md)."""
    name, codename = _system()
    return name == "debian" and codename in RELEASES


@cache
def debian_codename() -> str:
    """This machine's Debian release, 12 or 13."""
    name, codename = _system()
    if not is_debian():
        raise Died(f"this machine runs '{name} {codename}', no Debian 12 or 13 (docs/install.md, Another Linux)")
    return codename


@cache
def archive_address(suite: str) -> str:
    """The address from which the machine's apt takes a suite, "" if it does not."""
    targets = proc.output(
        ["apt-get", "indextargets", "--format", "$(RELEASE) $(CODENAME) $(REPO_URI)", "Created-By: Packages"]
    )
    for line in targets.splitlines():
        release, codename, address = line.split(" ", 2)
        if suite in (release, codename):
            return address
    return ""


_SOURCES: set[str] = set()  # suites whose source packages are wanted besides QEMU's
_BINARIES: set[str] = set()  # and those whose binary packages are, besides the machine's and the kernel's


def add_sources(suite: str) -> None:
    """From now on there are the source packages of a Debian release, too."""
    _add(suite, _SOURCES)


def add_binaries(suite: str, arch: str = "amd64") -> None:
    """From now on there are the binary packages of a Debian release, too: of another architecture as PACKAGE:ARCH."""
    _add(f"{arch} {suite}", _BINARIES)


def _add(suite: str, to: set[str]) -> None:
    if suite not in to:
        to.add(suite)
        update.cache_clear()


def _write_sources() -> None:
    codename = debian_codename()
    main, security = archive_address(codename), archive_address(f"{codename}-security")
    if not main:
        raise Died(f"apt on this machine has no source for {codename} main: add one to /etc/apt/sources.list")
    by, sources = f"[signed-by={KEYRING}]", sorted({bases.qemu_base().suite, *_SOURCES})
    lines = [f"deb {by} {main} {codename} main", *(f"deb-src {by} {main} {source} main" for source in sources)]
    suites = {"amd64 bookworm-backports" if codename == "bookworm" else "", f"amd64 {bases.linux_base().suite}"}
    rows = [row.split() for row in sorted(suites | _BINARIES - {f"amd64 {codename}"})]
    lines += [f"deb [arch={row[0]} signed-by={KEYRING}] {main} {row[1]} main" for row in rows if len(row) == 2]
    if security:
        lines.append(f"deb {by} {security} {codename}-security main")
        lines += [f"deb-src {by} {security} {source}-security main" for source in sources if source in RELEASES]
    (_state() / "sources.list").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _apt(tool: str, *args: str) -> list[str]:
    options = {
        "Dir::Etc::sourcelist": _state() / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": _state() / "lists",
        "Dir::Cache": _state() / "cache",
        "APT::Sandbox::User": user_name(),
        "APT::Update::Error-Mode": "any",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
    }
    return [tool, *(f"-o{name}={value}" for name, value in options.items()), "-q", *args]


@contextmanager
def _lock() -> Iterator[None]:
    """One at a time uses the private apt."""
    with (BUILD / ".lock-archive").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@cache
def update() -> None:
    """Fetch the private package lists, once in a run of this program."""
    make_dir(_state() / "lists/partial", _state() / "cache/archives/partial", DL, LOG)
    _write_sources()
    say("reading the package lists of the Debian archive ...")
    log_path = LOG / "apt-update"
    with _lock(), alive("reading the package lists"), log_path.open("w", encoding="utf-8") as log:
        status = proc.logged(_apt("apt-get", "update"), log)
    if status:
        errors = re.findall(r"^[EW]:.*", log_path.read_text(encoding="utf-8"), re.MULTILINE)
        for line in errors[:3]:
            say(f"    {line}")
        hint = "" if any(re.search("expired|not valid", line) for line in errors) else "check the network; "
        raise Died(f"cannot read the Debian archive ({hint}details in {log_path})")


def query(tool: str, *args: str) -> str:
    """What apt-get or apt-cache prints on the private state; "" if it fails."""
    update()
    env = {**os.environ, "LC_ALL": "C.UTF-8", "LANGUAGE": ""}  # "Depends", in no other language
    run = subprocess.run(
        _apt(tool, *args), env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
    )
    return run.stdout if run.returncode == 0 else ""


def _is(file: Path, digest: str) -> bool:
    """Is this the whole file?"""
    if not file.is_file():
        return False
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == digest


def fetch(tool_args: list[str], what: str) -> list[Path]:
    """Let apt-get fetch files into build/dl; what is there is not fetched again, and a download that was interrupted is
    continued. Result: their places there."""
    update()
    text = query("apt-get", *tool_args, "--print-uris")
    rows = re.findall(r"^'\S+' (\S+) (\d+) SHA256:([0-9a-f]{64})", text, re.MULTILINE)
    digests = {name: digest for name, _, digest in rows}
    with _lock():
        if not digests or not all(_is(DL / name, digest) for name, digest in digests.items()):
            mib = sum(int(size) for _, size, _ in rows) >> 20
            say(f"downloading {what}{f' ({mib} MiB)' if mib else ''} ...")
            digests.update(dict.fromkeys(_download(tool_args, what, digests), ""))
    return sorted(DL / name for name in digests)


def _download(tool_args: list[str], what: str, wanted: Collection[str]) -> list[str]:
    """Download, and move the files that are wanted (without any: all) into build/dl. Result: their names."""
    place, log_path = DL / ".fetch", LOG / "apt-fetch"  # apt-get continues what it finds there, and in its cache
    make_dir(place)
    with log_path.open("w", encoding="utf-8") as log, alive(f"downloading {what}"):
        status = proc.logged(_apt("apt-get", *tool_args), log, cwd=place)
    if status:
        error = re.search(r"^E:.*", log_path.read_text(encoding="utf-8"), re.MULTILINE)
        raise Died(f"cannot download {what}: {error[0] if error else 'apt-get failed'}")
    files = [file for file in place.iterdir() if not wanted or file.name in wanted]
    for file in files:
        shutil.move(file, DL / file.name)
    shutil.rmtree(place)
    return [file.name for file in files]


def package(name: str) -> Path:
    """Download one binary package, named as PACKAGE, PACKAGE=VERSION or PACKAGE/SUITE. Result: its file."""
    return fetch(["download", name], name)[0]


def source_package(name: str, *options: str) -> list[Path]:
    """Download a source package, PACKAGE=VERSION. Result: its files."""
    return fetch(["source", "--download-only", *options, name], f"the source of {name}")


def pooled(package: str, release: str, digest: str) -> Path:
    """An upstream tarball of this digest that lies in the archive's pool, whether a list names it or not."""
    make_dir(DL, LOG)
    file = DL / f"{package}_{release}.orig.tar.xz"
    if not _is(file, digest):
        address = f"{archive_address(debian_codename())}pool/main/{package[0]}/{package}/{file.name}"
        new, log_path = file.with_suffix(".new"), LOG / "apt-fetch"
        say(f"downloading {file.name} from the archive's pool ...")
        with log_path.open("w", encoding="utf-8") as log, alive(f"downloading {file.name}"):
            if proc.logged([APT_HELPER, "download-file", address, new, f"SHA256:{digest}"], log):
                raise Died(f"cannot download {file.name}: details in {log_path}")
        new.rename(file)
    return file


def source_versions(name: str) -> list[str]:
    """The versions of a source package that the archive has, oldest first."""
    text = query("apt-cache", "showsrc", "--only-source", name)
    versions = set(re.findall(r"^Version: (.*)$", text, re.MULTILINE))
    return proc.output(["sort", "-V"], input="\n".join(versions), stdin=None).split() if versions else []


def upstream_tarball(name: str, release: str) -> Path:
    """The tarball of an upstream release in the source package of any suite, or a tarball of the user's."""
    if Path(release).is_file():
        return Path(release)
    for suite in SUITES:
        add_sources(suite)
    versions = source_versions(name)
    found = [one for one in versions if upstream(one) in (release, f"{release}+ds")]
    if not found:
        have = " ".join(dict.fromkeys(upstream(one).partition("+")[0] for one in versions))
        raise Died(f"{name} {release}: no such tarball or folder, and the Debian archive has only {have}")
    files = source_package(f"{name}={found[-1]}", "--tar-only")
    return next(file for file in files if ".orig.tar" in file.name)


def moved_on(suite: str, what: str, series: str, versions: list[str]) -> str:
    """What is said when a suite no longer has a base; versions: those that there are."""
    has = upstream(versions[-1]).partition("+")[0] if versions else "nothing"
    return f"{suite} has {what} {has} now, and no {series}.x"


def upstream(version: str) -> str:
    """The part of a package's version that is upstream's."""
    return version.partition(":")[2].rpartition("-")[0] if ":" in version else version.rpartition("-")[0]


def newest(pattern: str) -> str:
    """The binary package with the greatest of the names that match a regular expression, "" if there is none."""
    names = [name for name in query("apt-cache", "pkgnames").split() if re.fullmatch(pattern, name)]
    return proc.output(["sort", "-V"], input="\n".join(names), stdin=None).split()[-1] if names else ""


def dependency(name: str, pattern: str) -> str:
    """The first dependency of a package whose name matches a regular expression, "" if there is none."""
    for line in query("apt-cache", "depends", name).splitlines():
        kind, _, wanted = line.strip().partition(": ")
        if kind == "Depends" and re.search(pattern, wanted):
            return wanted
    return ""


def unpack(tarball: Path, place: Path) -> None:
    """Unpack a source without roms/, QEMU's sources of firmware images that are not built here."""
    with made_whole(place) as new:
        proc.output(["tar", "-xf", tarball, "-C", new, "--strip-components=1", "--exclude=*/roms/*"])


def release(package: str, given: str) -> Path:
    """The source of another release: a folder, a tarball, or a version that the archive has."""
    if Path(given).is_dir():
        return Path(given)
    file = upstream_tarball(package, given)
    place = SRC / f"release-{file.name.partition('.tar')[0]}"
    if not place.is_dir():
        step(f"unpacking {file.name}", f"{package}-unpack", lambda log: unpack(file, place), about=15)
    return place
