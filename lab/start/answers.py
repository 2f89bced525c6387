# SPDX-License-Identifier: GPL-2.0-or-later
"""Add a processor's answers to the open questions of LWP, a file of judge.py --answers, to docs/spec/43724.md: a column
of its table. A column of that processor is replaced."""

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path

from lab.checks.citations import SPEC_PAGES
from lab.common.places import TOP
from lab.common.say import Died, say

PAGE = TOP / SPEC_PAGES["43724"]
SIZE = 1 << 16  # bytes that are read of a file
PROCESSOR = re.compile(r"fam[0-9a-f]{2,3}h model [0-9a-f]{2}h stepping [0-9a-f]")
ANSWER = re.compile(r"(?!.{61})[a-z0-9-]+(?: [a-z0-9-]+)*")
ROW = re.compile(r"^\| (asked|---|Q\d\d) \|.*$", re.MULTILINE)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="what judge.py --answers has written")


def questions(page: str) -> list[list[str]]:
    """The cells of the table's rows: the head, the line below it, and the questions."""
    return [row[0].strip("| ").split(" | ") for row in ROW.finditer(page)]


def read(file: Path, page: str) -> tuple[str, dict[str, str]]:
    """Processor and answers of a file; nothing of it gets into the page but words and numbers."""
    try:
        with file.open("rb") as data:
            told = json.loads(data.read(SIZE))
        name, answers = str(told["processor"]), {key: str(answer) for key, answer in told["answers"].items()}
    except OSError as err:
        raise Died(f"{file}: cannot read this file: {err.strerror}") from err
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as err:
        raise Died(f"{file}: not what judge.py --answers writes") from err
    if not PROCESSOR.fullmatch(name):
        raise Died(f"{file}: it does not say whose answers they are")
    if not answers or not answers.keys() <= {row[0] for row in questions(page)[2:]}:
        raise Died(f"{file}: no answers, or to other questions than those of {SPEC_PAGES['43724']}")
    if not all(map(ANSWER.fullmatch, answers.values())):
        raise Died(f"{file}: an answer is not words of a-z, 0-9 and -, or is too long")
    return name, answers


def added(page: str, name: str, answers: Mapping[str, str]) -> str:
    """The page with these answers."""
    head = questions(page)[0]
    at = head.index(name) if name in head else len(head)
    cells = {"asked": name, "---": "---", **answers}

    def row(found: re.Match[str]) -> str:
        old = found[0].strip("| ").split(" | ")
        return f"| {' | '.join([*old[:at], cells.get(found[1], 'not asked'), *old[at + 1:]])} |"

    return ROW.sub(row, page)


def main(args: argparse.Namespace) -> None:
    page = PAGE.read_text(encoding="utf-8")
    name, answers = read(args.file, page)
    PAGE.write_text(added(page, name, answers), encoding="utf-8")
    say(f"{PAGE.relative_to(TOP)} has the answers of {name}")
