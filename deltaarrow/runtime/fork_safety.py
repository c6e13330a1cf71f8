"""A cached property and a lock that work in a forked child, whatever the parent's threads were doing.

A child has the memory of its parent but only the thread that forked. A lock that another thread held at that
moment is never released there. In Python 3.11 `functools.cached_property` has such a lock, one per property
of a class.
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


class cached_property(Generic[T_co]):  # noqa: N801 - named like the class it replaces
    """A property whose value is computed once and kept in the instance, without a lock.

    Threads that read it at the same time may each compute it, but all get the value that was stored first. So
    a value may be an object that they share, such as a cache.

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
        # Only threads that read at the same time compute again: later reads bypass this descriptor.
        value: T_co = instance.__dict__.setdefault(self._name, self._find(instance))
        return value


class Lock:
    """A reentrant lock that is free in a forked child; do not hold it while forking.

    In the child, guarded data is as the holding thread left it between two of its steps, so each step must
    leave it usable.
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
        """Release the lock in a child, in which the threads that may have held it do not exist."""
        self._lock = threading.RLock()


_locks: "weakref.WeakSet[Lock]" = weakref.WeakSet()
_kept: "weakref.WeakSet[Any]" = weakref.WeakSet()


def keep_in_children(value: T) -> T:
    """Return an object that is never freed in a forked child, such as a database without its threads.

    Freeing a DuckDB database there crashes.
    """
    _kept.add(value)
    return value


_doing = threading.Condition(threading.RLock())
_threads: collections.Counter[int] = collections.Counter()
"""The threads in a block that forks wait for, with its nesting depth."""


@contextlib.contextmanager
def before_forks() -> Iterator[None]:
    """Run a block, such as an import, that a child must not find half done: forks elsewhere wait for it."""
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
