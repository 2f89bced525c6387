# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads that are measured in several ways, which take turns: CPU time, and its ratio to the first way in the same
turn."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.benches.output import Value


@dataclass
class Row:
    """A load in one way, measured several times."""

    configuration: str
    seconds: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    alone: float | None = None  # how often in a second one vCPU ran while all others waited

    def add(self, seconds: float, base: float) -> None:
        """A turn, in which the first way took so long."""
        self.seconds.append(seconds)
        self.ratios.append(seconds / base)

    def values(self) -> dict[str, Value]:
        """The median, and the least and the greatest ratio."""
        alone: dict[str, Value] = {} if self.alone is None else {"alone": round(self.alone)}
        return {
            "configuration": self.configuration,
            "seconds": round(statistics.median(self.seconds), 3),
            "ratio": round(statistics.median(self.ratios), 3),
            "least": round(min(self.ratios), 3),
            "greatest": round(max(self.ratios), 3),
            **alone,
        }


def show(title: str, rows: Sequence[dict[str, Value]]) -> None:
    """The table for people."""
    alone = any("alone" in row for row in rows)
    last = f" {'alone/second':>12}" if alone else ""
    print(f"\n{title}\n\n{'configuration':<42} {'seconds':>9} {'ratio':>7} {'least':>7} {'greatest':>8}{last}")
    for row in rows:
        line = "{configuration:<42} {seconds:>9} {ratio:>7} {least:>7} {greatest:>8}".format(**row)
        print(line + (f" {row['alone']:>12}" if "alone" in row else ""))
