# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of command line arguments that several commands have."""

import argparse
from collections.abc import Callable

SEED = 10**9 - 1  # the greatest seed that programs in guests take


def number(first: int, last: int, what: str = "a number") -> Callable[[str], int]:
    """A type for argparse: a decimal number between two, both included. What it is, for the refusal."""

    def convert(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or not first <= int(text) <= last:
            raise argparse.ArgumentTypeError(f"'{text}' is not {what} from {first} to {last}")
        return int(text)

    return convert


seed = number(0, SEED, "a seed")
