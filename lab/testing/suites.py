# SPDX-License-Identifier: GPL-2.0-or-later
"""Other people's suites that use performance counters (suites.toml): a Debian root in which each is built from the
archive's source, and what its tests do in a guest."""

import contextlib
import hashlib
import re
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.common import archive, proc
from lab.common.places import LAB, LOG, TOP
from lab.common.rows import late
from lab.common.say import Skip
from lab.common.steps import build_lock, fresh, stamp, step
from lab.guest.vm import HOST_ROOT
from lab.testing import fresh_root

TABLE = LAB / "testing/suites.toml"
PACKAGES = ("dpkg-dev", "build-essential", "libelf1t64", "libdw1t64", "procps", "python3")
STOCK = "qemu-system-x86_64"  # Debian's
PREDICTOR = "--pmu-model=predictor=2bit"  # with it there are mispredicted branches
MEMORY = 4096  # MiB; half of it is for what tests write
SAID = 4000  # bytes of the end of what a test says
VERDICT = re.compile(r"^@@ (\S+) (\d+)\n", re.MULTILINE)
SKIPPED = 77  # the status of a test that skips itself
STOPPED = 255  # of a test that no guest has survived
ENDS = {124: "it does not end in time", 137: "it does not end in time", STOPPED: "the guest stops"}  # of timeout(1)
PATIENCE = 60  # seconds beyond those of a test in which a guest says nothing
ENOUGH = 80  # percent of the tests that use counters run
FIGURES = re.compile(r": version \S+, (\d+) passed, (\d+) failed, (\d+) skipped;")
CAUSE = 100  # columns of the last that a test has said
# What a guest does: $1 folder, $2 set-up, $3 a test, $4 its seconds, then the names of tests. rr compares numbers of
# inodes, which a tmpfs keeps.
GUEST = f"""
echo 1 >/proc/sys/kernel/perf_event_paranoid
mount -t tmpfs none /tmp
cd "$1"; eval "$2"; run=$3 limit=$4; shift 4
for test; do
    timeout -k 5 "$limit" sh -c "$run" sh "$test" >/tmp/said 2>&1 </dev/null
    echo "@@ $test $?"; tail -c {SAID} /tmp/said; echo
done
"""


@dataclass(frozen=True)
class Suite:
    """A row of the table. Scripts run by sh in the suite's folder; a test's name is $1 of run."""

    name: str
    tests: str  # prints the names of the tests that use counters
    run: str
    like: str = ""  # another row, of which this one has all that it does not have itself, and the folder
    debian: str = "trixie"
    source: str = ""  # PACKAGE/SUITE, whose tarball is unpacked in the folder
    needs: str = ""  # PACKAGE/SUITE with the packages to build it
    packages: list[str] = field(default_factory=list)
    build: str = ":"
    setup: str = ":"  # in the guest, before the tests
    limit: int = 60  # seconds for a test
    stock: int = 0  # on stock QEMU, if not the same
    model: str = ""  # of Intel, where the suite knows no other
    late: str = ""  # the processor whose counters interrupt as late, for lab.common.rows; else they are in time
    skips: str = "(?!)"  # in what a test says: it has skipped itself
    fails: str = "(?!)"  # it has failed, whatever its status
    known: dict[str, str] = field(default_factory=dict)  # tests that fail, and the cause, which is not the counters

    @property
    def folder(self) -> str:
        """Where it is in its root, if it is more than its packages."""
        return f"/srv/{self.like or self.name}" if self.source or self.build != ":" else "/tmp"


@dataclass
class Verdicts:
    """What the tests have done; for those that are not passed the last line that they said."""

    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


def table() -> dict[str, Suite]:
    """All suites by name. If a row says how the names of twins end, what is known of a test is so of its twin."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    for row in rows.values():
        if end := row.pop("twins", ""):
            row["known"] |= {name + end: cause for name, cause in row["known"].items()}
    return {name: Suite(name, **(rows.get(row.get("like", ""), {}) | row)) for name, row in rows.items()}


def _build_script(suite: Suite) -> str:
    main = archive.archive_address(archive.debian_codename())
    words = ["export DEBIAN_FRONTEND=noninteractive"]
    if suite.folder != "/tmp":
        words.append(f"rm -rf {suite.folder}; mkdir -p {suite.folder}; cd {suite.folder}")
    if suite.source:
        lines = "".join(f"deb-src {main} {name} main\\n" for name in archive.SUITES)
        words.append(f"printf '{lines}' >/etc/apt/sources.list.d/sources.list")
    words.append("apt-get -q -o Acquire::Check-Valid-Until=false update")
    if suite.packages:
        words.append(f"apt-get -qy install --no-install-recommends {' '.join(suite.packages)}")
    if suite.source:
        words += [f"apt-get -qy build-dep {suite.needs or suite.source}",
                  f"apt-get -q source --tar-only --download-only {suite.source}",
                  "tar -xf *.orig.tar.* --strip-components=1"]
    return "; ".join([*words, suite.build])


def built(suite: Suite) -> Path:
    """The root that has the suite in its folder."""
    fresh_root.require(suite.name)
    root = fresh_root.kept_root(f"suites-{suite.debian}", suite.debian, PACKAGES)
    script, name = _build_script(suite), f"{root.name}-{suite.like or suite.name}"
    key = hashlib.sha256(script.encode()).hexdigest()
    with build_lock(root.name):
        if not (fresh(name, key) and (root / suite.folder.lstrip("/")).is_dir()):
            shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
            step(f"building {suite.name}", name, fresh_root.enter(root, script), about=120)
            stamp(name, key)
    return root


def names(suite: Suite, root: Path) -> list[str]:
    """Its tests that use counters."""
    script = f"cd {suite.folder}; {suite.tests}"
    command = ["sh", "-c", script] if root == HOST_ROOT else fresh_root.enter(root, script)
    return proc.output(command, stderr=subprocess.DEVNULL).split()


def version(suite: Suite, root: Path) -> str:
    """Upstream's version of the tarball, or Debian's of the first package."""
    for tarball in (root / suite.folder.lstrip("/")).glob("*.orig.tar.*"):
        return tarball.name.partition("_")[2].partition(".orig.")[0]
    query = f"dpkg-query -W -f '${{Version}}' {suite.packages[0]}"
    return proc.output(fresh_root.enter(root, query)).strip()


def run(suite: Suite, root: Path, tests: Sequence[str], stock: bool) -> Verdicts:
    """Run tests in a guest with counters, or in one of Debian's QEMU, which has none; what they say stays in a log."""
    emulator = shutil.which(STOCK)
    if stock and not emulator:
        raise Skip(f"needs {STOCK}: apt-get install qemu-system-x86")
    if stock:
        machine = [f"--model={suite.model or 'EPYC-v1'}", "--smp=1"]
    else:
        row = [f"--pmu-row={late(suite.late)}"] if suite.late else []
        machine = ["--pmu", PREDICTOR, *row, *([f"--model={suite.model}"] if suite.model else [])]
    limit = suite.stock if stock and suite.stock else suite.limit
    words = ["sh", "-c", GUEST, "sh", suite.folder, suite.setup, suite.run, str(limit)]
    files = [f"--root={root}"] if root != HOST_ROOT else []
    command = [str(TOP / "vlwp"), "shell", *machine, *files, f"--memory={MEMORY}", "--", *words]
    env = {"VLWP_QEMU": str(emulator)} if stock else None
    log = LOG / f"suites-{suite.name}{'-stock' * stock}"
    said, left = "", list(tests)
    while left:
        text = _guest([*command, *left], env, log, limit + PATIENCE)
        ended = len(VERDICT.findall(text))
        said += text
        if ended < len(left):
            said += f"\n@@ {left[ended]} {STOPPED}\n"
        left = left[ended + 1:]
    log.write_text(said, encoding="utf-8")
    return verdicts(suite, tests, said)


def _guest(command: Sequence[str], env: dict[str, str] | None, log: Path, patience: int) -> str:
    """What a guest says until it ends, or is ended, because for some time it has said nothing."""
    with log.open("wb") as out:
        child = proc.start(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            size = -1
            while child.poll() is None and size != log.stat().st_size:
                size = log.stat().st_size
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(patience)
        finally:
            proc.end(child)
    return log.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")


def verdicts(suite: Suite, tests: Sequence[str], output: str) -> Verdicts:
    """Of what the guest has printed."""
    found, parts = Verdicts(), VERDICT.split(output)[1:]
    ended = {name: (int(status), text) for name, status, text in zip(parts[::3], parts[1::3], parts[2::3])}
    for name in tests:
        status, text = ended[name]
        cause = ENDS.get(status) or (text.strip().splitlines() or [f"status {status}"])[-1][:CAUSE]
        if re.search(suite.skips, text) or status == SKIPPED:
            found.skipped[name] = cause
        elif status or re.search(suite.fails, text):
            found.failed[name] = cause
        else:
            found.passed.append(name)
    return found


def explained(suite: Suite, line: str) -> str:
    """The figures of a kept line, if by now each failure in it has a known cause; else empty."""
    _, _, told = line.partition(": ")
    figures, _, failed = told.partition(": ")
    return figures if failed and set(failed.split()) <= set(suite.known) else ""


def enough(figures: Sequence[str]) -> bool:
    """So many ran of all parts of a suite, or not all parts are done."""
    counts = [list(map(int, found.groups())) for line in figures if (found := FIGURES.search(line))]
    skipped, tests = sum(part[2] for part in counts), sum(sum(part) for part in counts)
    return len(counts) < len(figures) or 100 * skipped <= (100 - ENOUGH) * tests
