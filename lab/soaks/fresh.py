# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a minimal Debian 12 or 13, clone into it what is committed here, and do './vlwp run' as root, then 'run' and
'test' as an ordinary user.

The root has main and security only, and no ccache. It is entered in name spaces of its own, so that nothing of this
machine but the processor and the network is seen in it."""

import argparse
import time

from lab.common import archive, proc
from lab.common.say import Died, duration, say
from lab.testing import fresh_root
from lab.tests.pytest_part import PARTS

INSIDE = "/home/vlwp/lab/soaks/fresh-inside.sh"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", nargs="?", choices=archive.RELEASES, default="bookworm", help="default bookworm")
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), default=[], help="only these parts of the test")
    parser.add_argument("--keep", action="store_true", help="leave the system there and say where")


def main(args: argparse.Namespace) -> None:
    fresh_root.require("soak fresh")
    begin = time.monotonic()
    with fresh_root.fresh_root(args.suite, keep=args.keep) as root:
        if proc.call(fresh_root.enter(root, " ".join([INSIDE, *args.parts]))):
            raise Died(f"the fresh {args.suite} failed")
    say(f"soak fresh {args.suite}: passed in {duration(time.monotonic() - begin)}")
