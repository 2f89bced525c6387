# SPDX-License-Identifier: GPL-2.0-or-later
"""Work in several threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

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
