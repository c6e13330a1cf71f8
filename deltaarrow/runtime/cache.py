"""The caches of the process: content of logs and data files, within one budget of bytes.

Every cache is a `CacheSpace`. Together they hold at most what `set_cache_limit` allows; the least recently
used entry is dropped first.
"""

import itertools
import os
import re
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from cachetools import LRUCache

from deltaarrow.runtime.fork_safety import Lock

__all__ = ["CacheSpace", "set_cache_limit"]

Value = TypeVar("Value")

_DEFAULT_LIMIT = 256 << 20
_MOST_OF_LIMIT = 1 / 4
"""One entry takes at most this share of the budget, so that it cannot displace all others."""
_LIMIT = re.compile(r"([0-9]+)\s*([KMGT]?)(i?)B", re.IGNORECASE)


class _Entry(NamedTuple):
    value: Any
    nbytes: int


class _Cache:
    def __init__(self, limit: int) -> None:
        self.lock = Lock()
        self.entries: LRUCache[tuple[int, Hashable], _Entry] = LRUCache(limit, getsizeof=_size_of)


def _size_of(entry: _Entry) -> int:
    return entry.nbytes


_cache = _Cache(_DEFAULT_LIMIT)
_numbers = itertools.count()
_closed: deque[int] = deque()
"""Spaces whose owner is gone. A finalizer may run at any point, so the next `get` drops their entries."""


class CacheSpace:
    """The entries of one owner, dropped with it; keys are the owner's own; safe to share among threads.

    >>> space = CacheSpace()
    >>> space.find("answer", lambda: 42, nbytes=lambda value: 28)
    42
    >>> space.find("answer", lambda: 1 / 0)
    42
    """

    def __init__(self) -> None:
        self._number = next(_numbers)
        weakref.finalize(self, _closed.append, self._number).atexit = False

    def __reduce__(self) -> tuple[type["CacheSpace"], tuple[()]]:
        """Pickle as an empty space: its number means another space in another process."""
        return CacheSpace, ()

    def find(
        self,
        key: Hashable,
        make: Callable[[], Value],
        nbytes: Callable[[Value], int] = lambda value: value.nbytes,  # type: ignore[attr-defined]
    ) -> Value:
        """Return the value of a key; if there is none, make it, and keep it if it fits."""
        known = self.get(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        value = make()
        self.put(key, value, nbytes(value))
        return value

    def put(self, key: Hashable, value: Any, nbytes: int) -> None:
        """Keep a value of `nbytes` bytes, at least one, under a key if it fits."""
        cache, entry = _cache, _Entry(value, max(nbytes, 1))
        with cache.lock:
            if entry.nbytes <= cache.entries.maxsize * _MOST_OF_LIMIT:
                cache.entries[self._number, key] = entry

    def get(self, key: Hashable) -> Any:
        """Return the value of a key; None if there is none."""
        cache = _cache
        with cache.lock:
            _let_go_of_closed(cache)
            entry = cache.entries.get((self._number, key))
        return None if entry is None else entry.value


def set_cache_limit(limit: int | str = _DEFAULT_LIMIT) -> None:
    """Set how many bytes all caches of the process may hold together: ``100_000_000``, ``"512MiB"``.

    They hold encoded partition values, bounds, listings, footers and deletion vectors. The default is
    256 MiB; 0 keeps nothing. Current entries are dropped. `ValueError` for an invalid size.

    >>> set_cache_limit("1GB")
    >>> set_cache_limit()
    """
    global _cache
    _cache = _Cache(_parsed(limit))


def _parsed(limit: int | str) -> int:
    if isinstance(limit, str):
        found = _LIMIT.fullmatch(limit.strip())
        if found is None:
            raise ValueError(
                f"the cache limit must be a number of bytes or a text such as '512MiB', not {limit!r}"
            )
        power = " KMGT".index(found[2].upper() or " ")
        limit = int(found[1]) * (1024 if found[3] else 1000) ** power
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise ValueError(
            f"the cache limit must be 0 or more bytes, or a text such as '512MiB', not {limit!r}"
        )
    return limit


def _let_go_of_closed(cache: _Cache) -> None:
    closed = set()
    while _closed:
        closed.add(_closed.popleft())
    if closed:
        for key in [key for key in cache.entries if key[0] in closed]:
            del cache.entries[key]


def _start_anew_after_fork() -> None:
    """Start with an empty cache in a child: another thread of the parent may have been changing it."""
    global _cache
    _cache = _Cache(int(_cache.entries.maxsize))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_after_fork)
