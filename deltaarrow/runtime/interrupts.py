"""Ctrl-C while a query runs: it ends the query, and is a `KeyboardInterrupt`.

Python runs its handler of SIGINT between two of its own instructions, and a query of DuckDB is one, however
long. DuckDB asks for signals now and then, not in all kinds of work, and then raises `RuntimeError`, which
``except Exception`` takes for a failure. So while a query runs, the system writes each signal to a socket
(`signal.set_wakeup_fd`), and a thread that reads from it interrupts the query.

Where a program has a handler of SIGINT of its own, that handler decides, and nothing is done here.
"""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator

from deltaarrow.runtime.fork_safety import Lock

__all__ = ["interruptible"]

_OF_DUCKDB = "Query interrupted"
"""The text of the `RuntimeError` that DuckDB raises in place of `KeyboardInterrupt`."""

_OWN_THREADS = "deltaarrow"
"""What the names of threads begin with that work for a call in the main thread."""


@contextlib.contextmanager
def interruptible(interrupt: Callable[[], object]) -> Iterator[None]:
    """Call `interrupt` when Ctrl-C comes while the block runs; if the block fails, `KeyboardInterrupt`.

    Args:
        interrupt: ends what the block waits for; it is called in another thread.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main or threading.current_thread().name.startswith(_OWN_THREADS)):
        yield  # a thread of the program: Ctrl-C is for its main thread
        return
    watch, key = _watch, object()
    came = watch.came
    try:
        watch.begin(key, interrupt, installs=is_main)
        yield
    except Exception as error:
        if watch.came > came or _is_of_duckdb(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        watch.end(key, installs=is_main)


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
        self._sender: socket.socket | None = None
        self._before: int | None = None
        self._forward: int | None = None

    def begin(self, key: object, interrupt: Callable[[], object], *, installs: bool) -> None:
        """Interrupt this too from now on."""
        with self._lock:
            self._running[key] = interrupt
            if installs and self._before is None and _is_default():
                self._before = signal.set_wakeup_fd(self._writable(), warn_on_full_buffer=False)
                self._pass_on_to(self._before)

    def end(self, key: object, *, installs: bool) -> None:
        """Interrupt this no longer."""
        with self._lock:
            self._running.pop(key, None)
            if self._running or not installs or self._before is None:
                return
            found = signal.set_wakeup_fd(self._before)
            if found != self._writable():  # another library has put its own there meanwhile
                signal.set_wakeup_fd(found)
            self._before = None

    def _pass_on_to(self, before: int) -> None:
        """Pass signals on to another library that waits for them, whether or not it closes its descriptor."""
        if self._forward is not None:
            os.close(self._forward)
        self._forward = os.dup(before) if before >= 0 else None

    def _writable(self) -> int:
        if self._sender is None:
            receiver, self._sender = socket.socketpair()
            self._sender.setblocking(False)
            threading.Thread(
                target=self._wait, args=(receiver,), name=f"{_OWN_THREADS}-interrupts", daemon=True
            ).start()
        return self._sender.fileno()

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


def _is_default() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


_watch = _Watch()


def _start_anew_after_fork() -> None:
    """A child has no thread that reads, and must not write to the parent's."""
    global _watch
    if _watch._before is not None:
        signal.set_wakeup_fd(_watch._before)
    _watch = _Watch()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_after_fork)
