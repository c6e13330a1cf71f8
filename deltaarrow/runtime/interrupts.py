"""Ctrl-C while a query runs: it ends the query, and is a `KeyboardInterrupt`.

Python runs its handler of SIGINT between two of its own instructions, and a query of DuckDB is one, however
long. DuckDB asks for signals now and then, not in all kinds of work, and then raises `RuntimeError`, which
``except Exception`` takes for a failure. So while a query runs, the system writes each signal to a socket
(`signal.set_wakeup_fd`), and a thread that reads from it interrupts the query.

Where a program has a handler of SIGINT of its own, that handler decides, and nothing is done here. A handler
of PySpark, which raises `KeyboardInterrupt` too, counts as Python's.

Work in threads that is not DuckDB's ends by itself: it calls `ensure_wanted` for each batch of rows.
"""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator

from deltaarrow.runtime.fork_safety import Lock

__all__ = ["Stop", "TaskCancelledError", "ensure_wanted", "interruptible", "same_for_threads"]

_OF_DUCKDB = "Query interrupted"
"""The text of the `RuntimeError` that DuckDB raises in place of `KeyboardInterrupt`."""

_OF_PYSPARK = "pyspark.core.context"
"""The module of the handler that a SparkContext sets, which raises `KeyboardInterrupt` too."""

_thread = threading.local()
"""What a thread works for: `works_for_main` for a call in the main thread, `stops` say when for nobody."""


class TaskCancelledError(Exception):
    """Ends work in a thread that nobody waits for any more; nobody sees this error."""


class Stop:
    """Says whether nobody waits for the work of some threads any more. It has no lock, as an event has."""

    def __init__(self) -> None:
        self.is_set = False


@contextlib.contextmanager
def interruptible(interrupt: Callable[[], object]) -> Iterator[None]:
    """Call `interrupt` when Ctrl-C comes while the block runs; if the block fails, `KeyboardInterrupt`.

    Args:
        interrupt: ends what the block waits for; it is called in another thread.
    """
    if not _works_for_main():
        yield  # a thread of the program: Ctrl-C is for its main thread
        return
    watch, key = _watch, object()
    came = watch.came
    try:
        watch.begin(key, interrupt)
        yield
    except Exception as error:
        if watch.came > came or _is_of_duckdb(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        watch.end(key)


def same_for_threads(*stops: Stop) -> Callable[[], None]:
    """Return what a new thread calls first that works for the caller: Ctrl-C interrupts both or neither.

    Once one of `stops` is set, nobody waits for the work of the thread, and `ensure_wanted` ends it.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(initializer=same_for_threads()) as pool:
    ...     pool.submit(str, 1).result()
    '1'
    """
    works_for_main, inherited = _works_for_main(), (*_stops(), *stops)

    def begin() -> None:
        _thread.works_for_main, _thread.stops = works_for_main, inherited

    return begin


def ensure_wanted() -> None:
    """Raise `TaskCancelledError` in a thread whose work nobody waits for any more."""
    if any(stop.is_set for stop in _stops()):
        raise TaskCancelledError


def _stops() -> tuple[Stop, ...]:
    return getattr(_thread, "stops", ())


def _works_for_main() -> bool:
    return _is_main() or getattr(_thread, "works_for_main", False)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_of_duckdb(error: BaseException) -> bool:
    """Whether an error, or one that led to it, is DuckDB's answer to Ctrl-C."""
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        if type(following) is RuntimeError and str(following) == _OF_DUCKDB:
            return True
        seen.append(following)
        following = following.__cause__ or following.__context__
    return False


class _Watch:
    """What is to be interrupted, and the thread that waits for Ctrl-C.

    `came` counts how often Ctrl-C came while something was to be interrupted.
    """

    def __init__(self) -> None:
        self.came = 0
        self._lock = Lock()
        self._running: dict[object, Callable[[], object]] = {}
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._before: int | None = None
        self._forward: int | None = None

    def begin(self, key: object, interrupt: Callable[[], object]) -> None:
        """Interrupt this too from now on."""
        with self._lock:
            self._put_back()  # if the last block ended in another thread
            self._running[key] = interrupt
            if _is_main() and _raises_interrupt(signal.getsignal(signal.SIGINT)):
                # Also during another block: a library that ended meanwhile may have taken this socket away.
                before = signal.set_wakeup_fd(self._writable(), warn_on_full_buffer=False)
                if before != self._writable():
                    self._before = before
                    self._pass_on_to(before)
                elif self._before is None:
                    self._before = -1  # a library that began during an earlier block has put it there again
                    self._pass_on_to(-1)

    def end(self, key: object) -> None:
        """Interrupt this no longer; the thread may be another one than that of `begin`."""
        with self._lock:
            self._running.pop(key, None)
            self._put_back()

    def close(self) -> None:
        """Stop waiting, in a child that has no thread that reads, and must not write to its parent's."""
        self._running.clear()
        if self._sockets is None:
            return
        if self._before is None:
            self._before = -1  # another library may have put this socket there again
        self._put_back()
        self._pass_on_to(-1)
        for each in self._sockets:
            each.close()

    def _put_back(self) -> None:
        """Let signals go where they went before, unless something is to be interrupted."""
        if self._running or self._before is None or not _is_main():
            return
        before, self._before = self._before, None
        found = _wake(before)
        if found != self._writable():  # another library has put its own there meanwhile
            _wake(found)

    def _pass_on_to(self, before: int) -> None:
        """Pass signals on to another library that waits for them, whether or not it closes its descriptor."""
        past, self._forward = self._forward, os.dup(before) if before >= 0 else None
        if past is not None:
            os.close(past)

    def _writable(self) -> int:
        if self._sockets is None:
            self._sockets = receiver, sender = socket.socketpair()
            sender.setblocking(False)
            threading.Thread(
                target=self._wait, args=(receiver,), name="deltaarrow-interrupts", daemon=True
            ).start()
        return self._sockets[1].fileno()

    def _wait(self, receiver: socket.socket) -> None:
        while numbers := receiver.recv(64):
            with self._lock:
                if signal.SIGINT in numbers:
                    self.came += 1
                    for interrupt in self._running.values():
                        with contextlib.suppress(Exception):  # it may be closed
                            interrupt()
                if self._forward is not None:
                    with contextlib.suppress(OSError):
                        os.write(self._forward, numbers)


def _wake(descriptor: int) -> int:
    """Let signals be written to a descriptor, unless it was closed; return that of before."""
    try:
        return signal.set_wakeup_fd(descriptor)
    except (OSError, ValueError):
        return signal.set_wakeup_fd(-1)


def _raises_interrupt(handler: object) -> bool:
    return handler is signal.default_int_handler or getattr(handler, "__module__", "") == _OF_PYSPARK


_watch = _Watch()


def _start_anew_after_fork() -> None:
    global _watch
    _watch.close()
    _watch = _Watch()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_after_fork)
