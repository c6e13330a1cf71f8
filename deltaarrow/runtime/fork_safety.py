"""A cached property and a lock that work in a forked child, whatever the threads of its parent were doing.

A child has the memory of its parent but only the thread that forked. A lock that another thread held at that
moment is never released there. `functools.cached_property` has such a lock, one for each property of a
class, in Python 3.11.
"""

import collections
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["Lock", "before_forks", "cached_property", "keep_in_children"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class cached_property(Generic[T_co]):  # noqa: N801 - the name of what it replaces
    """A property whose value is found once and kept in the instance; it has no lock.

    Threads that ask for it at the same time may each find it. The first value that is kept is what all of
    them get, so a value may be an object that they share, such as a cache.

    >>> class Answer:
    ...     @cached_property
    ...     def value(self) -> int:
    ...         print("found")
    ...         return 42
    >>> answer = Answer()
    >>> answer.value, answer.value
    found
    (42, 42)
    """

    def __init__(self, find: Callable[[Any], T_co]) -> None:
        self._find = find
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T_co: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T_co:
        if instance is None:
            return self
        # Asked again only by a thread that came at the same time: later the instance answers by itself.
        value: T_co = instance.__dict__.setdefault(self._name, self._find(instance))
        return value


class Lock:
    """A lock that nobody holds in a child that was forked; not to be held while forking.

    What it guards is as consistent in the child as between any two steps of the thread that held it, so that
    each of these steps has to leave something usable. Reentrant.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def reset(self) -> None:
        """Let nobody hold it: for a child, where those who may have held it are not."""
        self._lock = threading.RLock()


_locks: "weakref.WeakSet[Lock]" = weakref.WeakSet()
_kept: "weakref.WeakSet[Any]" = weakref.WeakSet()


def keep_in_children(value: T) -> T:
    """Return an object that is never to be freed in a forked child, as a database without its threads.

    To free DuckDB's there crashes.
    """
    _kept.add(value)
    return value


_doing = threading.Condition(threading.RLock())
_threads: collections.Counter[int] = collections.Counter()
"""The threads that do what a fork waits for; how often, as such things are nested."""


@contextlib.contextmanager
def before_forks() -> Iterator[None]:
    """Do what a child must not find half done, such as an import: a fork in another thread waits for it."""
    thread = threading.get_ident()
    with _doing:
        _threads[thread] += 1
    try:
        yield
    finally:
        with _doing:
            _threads[thread] -= 1
            if not _threads[thread]:
                del _threads[thread]
            _doing.notify_all()


def _wait_before_fork() -> None:
    _doing.acquire()
    _doing.wait_for(lambda: not {*_threads} - {threading.get_ident()})


def _start_in_child() -> None:
    global _doing
    _doing = threading.Condition(threading.RLock())
    for lock in _locks:
        lock.reset()
    if not _kept:
        return
    import ctypes

    for value in _kept:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_wait_before_fork,
        after_in_parent=lambda: _doing.release(),
        after_in_child=_start_in_child,
    )
