# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of a test of migration by itself, as a host of the nested lab starts it: python3 -m lab.migrate PART, with the
fields of Task as options. The last line is "N passed, N failed, N skipped"."""

import argparse
import sys
import tempfile
import traceback
from pathlib import Path

from lab.common import places
from lab.migrate import fuzz, live, pair, points
from lab.migrate.machines import Task

PARTS = {
    "points": points.points, "moments": points.moments, "misses": points.misses, "fuzz": fuzz.fuzz, "live": live.live,
    "pair": pair.pair,
}


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="lab.migrate", description=__doc__)
    parser.add_argument("part", choices=list(PARTS))
    for name in ("count", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--qemu", type=Path, default=places.qemu())
    parser.add_argument("--into-qemu", type=Path)
    for name in ("accel", "into", "kind", "properties", "role"):
        parser.add_argument(f"--{name}", default="tcg" if name == "accel" else "")
    fields = vars(parser.parse_args())
    part = PARTS[fields.pop("part")]
    with tempfile.TemporaryDirectory(prefix="vlwp-migrate.") as work:
        task = Task(Path(work), **fields)
        try:
            part(task)
        except Exception:  # pylint: disable=broad-exception-caught
            task.note(traceback.format_exc())
            task.ok(False, "it ended early")
    print(f"{task.passed} passed, {task.failed} failed, {task.skipped} skipped")
    return int(task.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
