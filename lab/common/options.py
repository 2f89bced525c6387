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


def part(text: str) -> tuple[int, int]:
    """A type for argparse: one of some parts, as 3/20."""
    one, _, all_of_them = text.partition("/")
    if not (one.isascii() and one.isdecimal() and all_of_them.isascii() and all_of_them.isdecimal()) \
            or not 1 <= int(one) <= int(all_of_them):
        raise argparse.ArgumentTypeError(f"'{text}' is not a part of some, as 1/20")
    return int(one), int(all_of_them)


seed = number(0, SEED, "a seed")
