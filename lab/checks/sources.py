# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree's own files."""

from lab.common import proc
from lab.common.places import TOP


def files(*patterns: str) -> list[str]:
    """Those that match, without what git ignores."""
    listing = proc.output(
        ["git", "-C", TOP, "-c", f"safe.directory={TOP}", "ls-files", "-co", "--exclude-standard", "--", *patterns]
    )
    return [name for name in listing.splitlines() if (TOP / name).is_file()]


def text(name: str) -> str:
    """What is in one."""
    return (TOP / name).read_text(encoding="utf-8", errors="replace")
