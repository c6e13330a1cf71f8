"""Parallel map over a stream by threads, with results in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["mapped_in_order"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def mapped_in_order(
    function: Callable[[_Item], _Result], items: Iterable[_Item], workers: int
) -> Iterator[_Result]:
    """Map items by threads; results are in the order of the items, and few items are read ahead.

    >>> list(mapped_in_order(str, [3, 1, 2], workers=2))
    ['3', '1', '2']
    """
    if not workers:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[_Result]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
