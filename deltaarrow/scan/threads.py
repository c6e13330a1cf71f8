"""Work on a stream by several threads, whose results come in the order of the stream."""

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
    """Map items by threads; results come in the order of the items, of which few are taken ahead.

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
