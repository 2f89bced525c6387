# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's checkpatch says only when a series is exported."""

from lab.checks.sources import files
from lab.common.places import TOP

COLUMNS = 100


def test_sources_of_the_kernel_have_a_hundred_columns() -> None:
    """Tabs go to the next multiple of eight. Words for the kernel's log stay together."""
    names = files(*(f":(glob){folder}/*.[ch]" for folder in ("vmcb", "kvm/engine", "kvm/svm")))
    assert names
    long = [
        f"{name}:{number}" for name in names
        for number, line in enumerate((TOP / name).read_text(encoding="utf-8").splitlines(), 1)
        if len(line.expandtabs(8)) > COLUMNS and "pr_" not in line
    ]
    assert not long
