# SPDX-License-Identifier: GPL-2.0-or-later
"""Work on another processor while the caller goes on."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from lab.common import proc


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


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Run a function in a thread during the with block, whose end waits for it. A signal in the
    block is the end of the program: the function's children end, too."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            proc.end_all()
            raise
        future.result()
