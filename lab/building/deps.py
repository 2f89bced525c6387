# SPDX-License-Identifier: GPL-2.0-or-later
"""Install the Debian packages that this machine lacks, and nothing else: what `run`, `shell` and `count` need. It needs
root (or sudo) and the network only when something is missing. Elsewhere than on Debian 12 and 13 it says which programs
and libraries are not there."""

import argparse
import re
from collections.abc import Sequence

from lab.common import proc
from lab.common.places import BUILD, LAB
from lab.common.say import Died


def lacking(packages: Sequence[str]) -> list[str]:
    """Those of Debian's packages that are not installed."""
    listed = proc.output(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n"])
    return [name for name in packages if f"installed {name}\n" not in listed]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tests", action="store_true", help="also what tests, the nested lab and packages need")


def main(args: argparse.Namespace) -> int:
    return proc.call([LAB / "building/deps.sh", *(["--tests"] if args.tests else [])])


def ensure(tests: bool = True) -> None:
    """What a command needs is installed; if it cannot be, the command ends here. Not tests: what it takes to run a
    program in a guest."""
    if re.search(r"[\s:,]", str(BUILD)):
        raise Died(f"{BUILD}: QEMU takes no directory with spaces, colons or commas: set VLWP_BUILD_DIR to another one")
    status = main(argparse.Namespace(tests=tests))
    if status:
        raise SystemExit(status)
