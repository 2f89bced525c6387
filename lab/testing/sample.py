# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile of host-tools/tests/sample_profile.c, whose numbers are literal here, and lwpctl's exports of it."""

from pathlib import Path

from lab.common.places import BUILD
from lab.common.report import Check

OUT = BUILD / "host-asan"
LWPCTL = OUT / "host-tools/lwpctl"
SAMPLE = OUT / "host-tools/tests/sample_profile"

# 30 samples of sample_hot and 14 of sample_cold stand for 100 instructions each; 13 of branches for 10.
HOT, COLD, BRANCHES = 3000, 1400, 130
PROCESS = r'sam;ple "\x1b[31m'  # printable; the file has the escape character

# Two windows of 4 branches stand for 100 and 300: their runs count 25 and 75 times. The first run of each is not
# seen, the second branch is not taken: 4 instructions of sample_hot, the last of which calls, and 3 of sample_cold.
W_HOT, W_COLD, W_CALLS, W_BRANCHES = 400, 300, 100, 400
BELOW = "[below the window]"


def export(check: Check, name: str, *options: str, windows: bool = False) -> Path:
    """The sample in a format."""
    data, out = check.work / "sample.data", check.work / f"sample.{name}"
    check.run([SAMPLE, *(["--windows"] if windows else []), data])
    check.run([LWPCTL, "export", f"--format={name}", *options, "-o", out, data])
    return out
