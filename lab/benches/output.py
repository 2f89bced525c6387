# SPDX-License-Identifier: GPL-2.0-or-later
"""What benches print: a table for people, or with --json the same rows for programs."""

import argparse
import json
import re
import subprocess
from collections.abc import Sequence

from lab.common import proc

Value = str | float


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """The option that every bench has."""
    parser.add_argument("--json", action="store_true", help="print the rows as JSON instead of a table")


def print_json(bench: str, rows: Sequence[dict[str, Value]]) -> None:
    """The rows of a bench for programs."""
    print(json.dumps({"bench": bench, "rows": list(rows)}, indent=1))


def rows_of(text: str, row: str) -> list[dict[str, Value]]:
    """The rows in a table: lines that match a regular expression, by the names of its groups. Numbers are numbers."""
    found: list[dict[str, Value]] = []
    for match in re.finditer(row, text, re.MULTILINE):
        found.append({name: _value(value) for name, value in match.groupdict().items() if value is not None})
    return found


def _value(text: str) -> Value:
    try:
        return float(text)
    except ValueError:
        return text.strip()


def show(bench: str, argv: Sequence[proc.Word], row: str, as_json: bool) -> int:
    """Run a program that prints a table, or print its rows as JSON. Result: its exit status."""
    if not as_json:
        return proc.call(argv)
    child = proc.start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    text, _ = child.communicate()
    status = proc.wait(child)
    print_json(bench, rows_of(text, row))
    return status
