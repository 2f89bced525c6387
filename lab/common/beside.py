# SPDX-License-Identifier: GPL-2.0-or-later
"""Work in several threads."""

import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.common import proc
from lab.common.steps import jobs_count

Command = tuple[Sequence[str], Path]  # and where


def side_by_side(works: Iterable[Callable[[], object]], count: int) -> None:
    """Run functions in this many threads and wait for all. A signal ends the program: the functions' children, too."""
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(work) for work in works]
        try:
            for future in futures:
                future.result()
        except (KeyboardInterrupt, SystemExit):
            proc.end_all()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def ended(commands: Iterable[Command]) -> list[tuple[int, str]]:
    """Run commands, some at once. Result: the exit status of each, and what it has said."""

    def run(command: Command) -> tuple[int, str]:
        words, place = command
        said = subprocess.STDOUT
        done = subprocess.run(words, cwd=place, text=True, stdout=subprocess.PIPE, stderr=said, check=False)
        return done.returncode, done.stdout

    with ThreadPoolExecutor(jobs_count()) as pool:
        return list(pool.map(run, commands))


def refused(commands: Iterable[Command]) -> list[str]:
    """What those of them say that fail."""
    return [text for status, text in ended(commands) if status]
