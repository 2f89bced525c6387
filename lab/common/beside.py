# SPDX-License-Identifier: GPL-2.0-or-later
"""Work on another processor while the caller goes on."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from lab.common import proc


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Run a function in a thread during the with block, whose end waits for it. An exception in the block is the end
    of the program: the function's children end, too."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            yield
        except BaseException:
            proc.end_all()
            raise
        future.result()
