"""Cancellation of work in threads."""

from collections.abc import Collection, Iterator
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["finished_after_all"]

_T = TypeVar("_T")


def finished_after_all(running: Collection["Future[_T]"]) -> Iterator[_T]:
    """Cancel what has not begun, wait for the rest, and yield the results of what succeeded.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor() as pool:
    ...     running = [pool.submit(int, "7"), pool.submit(int, "x")]
    >>> list(finished_after_all(running))
    [7]
    """
    for future in running:
        future.cancel()
    for future in running:
        if not future.cancelled() and future.exception() is None:
            yield future.result()
