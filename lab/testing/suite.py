# SPDX-License-Identifier: GPL-2.0-or-later
"""The flat suite: its table, runner and judge, which are no part of the lab, for they go to machines without it; its
kernel, and command lines for it."""

import re
import sys
from collections.abc import Sequence

from lab.common import places, proc

RUNNER = places.TOP / "guest-tests/flat/runner"
sys.path.append(str(RUNNER))

from flatrun import failures, judged, run  # noqa: E402
from judge import FAILED, PASSED, read  # noqa: E402
from table import OF_TOOL, ROWS, SECONDS, Row  # noqa: E402

__all__ = ["FAILED", "OF_TOOL", "PASSED", "ROWS", "RUNNER", "SECONDS", "Row", "failures", "judged", "read", "run"]

TESTS = places.TOP / "guest-tests/flat/tests"
# Rows that no mutant names and no rule needs, for a unit test proves it, too. They run where they are named, in soak
# flat and flat-kvm, and most of them in the suite that stands alone.
ELSEWHERE = """
    bre_forms context_many context_smp_3 dcache_latency fields io_break la57_collect leaf_2007 leaf_2007_dcache
    leaf_2007_slots leaf_bits leaf_dcache leaf_fam15h leaf_max_events leaf_min_buffer leaf_no_clocks limits llwpcb
    os_init os_reset os_rev07 os_smm os_smp ptsc random rev07_dcache rev07_dcache_latency rev07_events rev07_msr_mmio
    rev07_slots ring simultaneous ud xop_forms
""".split()
IMAGE = places.HOST / "guest-tests/flat/flat.elf"


def command(row: Row) -> list[str]:
    """The command line of a row under TCG."""
    return row.command(places.qemu(), IMAGE, "tcg", places.FIRMWARE)


def flatrun(*options: object, accel: str = "tcg") -> list[str]:
    """A command line of flatrun."""
    emulator = ("--qemu", places.qemu(), "--firmware", places.FIRMWARE, "--image", IMAGE, "--accel", accel)
    return [str(RUNNER / "flatrun.py"), *map(str, emulator), *map(str, options)]


def only(names: Sequence[str]) -> list[str]:
    """flatrun's options for the rows of these names."""
    return [word for name in names for word in ("--only", name)]


def line_of(row: Row) -> str:
    """What the test is about, by the comment at its head, and the processor and words of this row."""
    head = (TESTS / f"{row.test or row.name}.c").read_text(encoding="utf-8")
    comment = re.search(r"/\*(.*?)\*/", head[head.index("\n"):], re.DOTALL)
    text = " ".join((comment[1] if comment else "").replace(" *", " ").split())
    sentence = re.match(r".*?[.;](?= |$)|.*", text)
    return f"{sentence[0] if sentence else ''} [{' '.join(filter(None, [row.model, row.cpu, row.args]))}]"


def shown(row: Row) -> str:
    """The command line of a row for a user's shell."""
    return proc.quoted(command(row))
