# SPDX-License-Identifier: GPL-2.0-or-later
"""Process 1 of the name spaces in which the hosts live: runs cases by their names and prints the sums."""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from lab.common import proc  # noqa: E402  (the path must be set first)
from lab.common.report import Report  # noqa: E402
from lab.libvirt.cases import PATCHED, ROWS  # noqa: E402
from lab.libvirt.site import Site  # noqa: E402


def reap(child: int) -> int:
    """Wait for a child, and for the daemons that are left to process 1. Result: the child's exit status."""
    while True:
        try:
            pid, status = os.wait()
        except KeyboardInterrupt:
            continue
        if pid == child:
            return abs(os.waitstatus_to_exitcode(status))


def run(args: argparse.Namespace) -> int:
    """The cases. Result: the exit status."""
    begin = time.monotonic()
    report, site = Report(args.work), Site(args.work, args.length, args.root)
    if args.patched:
        site.add_patched(args.patched)
    for row in PATCHED if args.patched else ROWS:
        if row.name in args.names:
            row.run(report, site)
    version = proc.output(["virsh", "--version"]).strip()
    started = sum(host.started for host in site.hosts.values())
    hosts = {2: "two hosts", 3: "three hosts", 4: "four hosts"}.get(started, f"{started} hosts")
    if args.root:
        version = f"of {args.root}"
    report.line(f"{hosts} with libvirt {args.patched or version}: {time.monotonic() - begin:.0f} s", 8)
    return report.end()


def main() -> int:
    """Run the cases in a child of process 1."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--patched", default="", help="the cases of the patched libvirt of this series")
    parser.add_argument("--root", type=Path, help="the Debian system whose libvirt the hosts have")
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()
    child = os.fork()
    return reap(child) if child else run(args)


if __name__ == "__main__":
    sys.exit(main())
