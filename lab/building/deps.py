# SPDX-License-Identifier: GPL-2.0-or-later
"""Install the Debian packages that this machine lacks, and nothing else. It needs root (or sudo) and the
network only when something is missing."""

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


def main(_: argparse.Namespace) -> int:
    return proc.call([LAB / "building/deps.sh"])


def ensure() -> None:
    """What a command needs is installed; if it cannot be, the command ends here."""
    if re.search(r"[\s:,]", str(BUILD)):
        raise Died(f"{BUILD}: QEMU takes no directory with spaces, colons or commas: set VLWP_BUILD_DIR to another one")
    status = main(argparse.Namespace())
    if status:
        raise SystemExit(status)
