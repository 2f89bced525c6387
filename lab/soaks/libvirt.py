# SPDX-License-Identifier: GPL-2.0-or-later
"""The patched libvirt: its series applies to the archive's source, libvirt's own tests pass, and hosts that have it
stand beside hosts with this machine's libvirt. And the unpatched libvirt of another Debian suite, from a root of its
own: what ./vlwp test libvirt runs."""

import argparse
import re
import shutil
import tarfile
from pathlib import Path

from lab.building import libvirt, meson, qemu_tree
from lab.building.libvirt import Libvirt
from lab.common import places, proc
from lab.common.places import DL
from lab.common.report import Check, Report
from lab.common.say import Died
from lab.common.steps import jobs_count
from lab.guest.vm import run_directory
from lab.series import checks
from lab.series import libvirt as series
from lab.series.export import copy_touched
from lab.series.soak import series_file
from lab.series.tree import Tree, author
from lab.soaks import fresh_root
from lab.start import deps
from lab.start.pytest_part import PARTS, add_options as add_pytest_options

# Debian's, and what is installed of them in a root of its own. QEMU and lwpctl are built here.
SUITES = ("trixie", "forky", "sid")
IN_ROOT = (
    *("libvirt-daemon", "libvirt-daemon-driver-qemu", "libvirt-clients"),
    *("libfdt1", "libattr1", "libcap-ng0", "libjson-c5"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    names = " ".join(one.series for one in libvirt.known())
    text = f"a patched one, of {names} (default this machine's); an unpatched one, of {' '.join(SUITES)}"
    parser.add_argument("which", nargs="*", metavar="VERSION|SUITE", help=text)
    parser.add_argument("--only", metavar="CASE", help="of the cases with hosts those with this in their names")
    add_pytest_options(parser)


def _applies(check: Check, one: Libvirt) -> None:
    """What ./vlwp export writes makes what is built here of the files that it touches."""
    series.write(check.work / one.name, author())
    patches = checks.patches_in(check.work / one.name / one.name)
    place, pristine = check.work / f"tree-{one.name}", libvirt.fetch(one)
    copy_touched(pristine, patches, place)
    tree = Tree(place, author(), check.log)
    tree.git("am", *patches)
    files = [file.relative_to(place) for file in place.rglob("*") if file.is_file() and ".git" not in file.parts]
    differ = [str(name) for name in files if (place / name).read_bytes() != (one.tree / name).read_bytes()]
    check.want(files and not differ, f"not as built: {' '.join(differ)}")


def _own_tests(check: Check, one: Libvirt) -> None:
    meson.fetch()
    words = ["--no-rebuild", "--print-errorlogs", "--num-processes", str(jobs_count()), "--timeout-multiplier", "10"]
    check.run(["nice", "-n", "10", "meson", "test", "-C", one.out, *words, *libvirt.tests(one)])


def _debian(check: Check, one: Libvirt) -> None:
    """On top of Debian's own patches, with offsets and without fuzz."""
    pristine, place = libvirt.fetch(one), check.work / f"debian-{one.name}"
    place.mkdir()
    with tarfile.open(max(DL.glob(f"libvirt_{one.series}.*.debian.tar.xz"))) as tar:
        tar.extractall(place)
    theirs = series_file(place / "debian/patches")
    check.want(theirs, "Debian has no patches")
    copy_touched(pristine, [*theirs, *one.patches()], place)
    for patch in theirs:
        with patch.open("rb") as text:
            check.run(["patch", "-d", place, "-p1", "-f", "-s", "--no-backup-if-mismatch"], stdin=text)
    qemu_tree.apply(one.patches(), pristine, place, check.log)


def _hosts(report: Report, args: argparse.Namespace, *words: str) -> None:
    """The tests with hosts; words are pytest's."""
    report.add(*PARTS["libvirt"].run([args.only] if args.only else [], args, *words))


def _series(report: Report, one: Libvirt, args: argparse.Namespace) -> None:
    libvirt.build(one)
    if not args.only:
        report.check(f"libvirt {one.series}: the series applies with git am", _applies, one)
        report.check(f"libvirt {one.series}: the series applies to Debian's source", _debian, one)
        report.check(f"libvirt {one.series}: its own tests", _own_tests, one)
    # An unpatched libvirt of the same version is this machine's, if any.
    beside = () if one == libvirt.own() else ("-k", "not unpatched")
    _hosts(report, args, "-m", "soak", f"--patched={one.series}", *beside)


def _add_libraries(root: Path) -> None:
    """Libraries of what is built here that a newer Debian has under other names."""
    hook = places.HOST / "host-tools/libvirt-hook-qemu"
    libraries = proc.output(["ldd", hook, places.qemu(), places.qemu_base()])
    for name in sorted(set(re.findall(r"^\t.* => (/\S+) \(", libraries, re.MULTILINE))):
        if not (root / name.lstrip("/")).exists():
            shutil.copy(name, root / "usr/local/lib")
    proc.output(fresh_root.enter(root, "ldconfig"))


def _unpatched(report: Report, suite: str, args: argparse.Namespace) -> None:
    """What ./vlwp test libvirt runs, with the libvirt of a suite."""
    fresh_root.require("soak libvirt")
    with fresh_root.fresh_root(suite, IN_ROOT) as root:
        proc.output(fresh_root.enter(root, "useradd --uid 1000 tester"))  # as whom start-host.sh runs it
        _add_libraries(root)
        _hosts(report, args, f"--root={root}")


def main(args: argparse.Namespace) -> int:
    """The command."""
    known = {one.series: one for one in libvirt.known()}
    wrong = [name for name in args.which if name not in known and name not in SUITES]
    if wrong:
        raise Died(f"soak libvirt: there is no {' '.join(wrong)}; there are: {' '.join([*known, *SUITES])}")
    deps.ensure()
    PARTS["libvirt"].prepare()
    with run_directory("vlwp-libvirt") as work:
        report = Report(work)
        for name in args.which or [libvirt.own().series]:
            if name in SUITES:
                _unpatched(report, name, args)
            else:
                _series(report, known[name], args)
        return report.end()
