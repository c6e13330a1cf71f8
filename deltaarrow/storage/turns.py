"""Turns of the writers of one machine: who tries to commit waits for those who are about to.

Without turns a writer whose attempts take longer never commits beside writers that are quick. A turn is an
advisory lock (``flock``) on the folder of the log, which the system releases when a process ends. It decides
nothing: a commit is made by put-if-absent, with or without a turn, and writers that know no turns are
unaffected. So a file system without such locks has no turns, and nobody waits long for a writer that is
stopped or slow.
"""

import contextlib
import os
import random
import time
from collections.abc import Iterator

from deltaarrow.storage.store import Store

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

__all__ = ["turn"]

_POLL_S = 0.002


@contextlib.contextmanager
def turn(store: Store, folder: str, longest_wait: float = 0.25) -> Iterator[None]:
    """Hold the turn for a folder of a local store while the block runs; for any other store, just run it.

    After `longest_wait` seconds the block runs without the turn.
    """
    descriptor = _opened(store.location(folder)) if store.is_local and fcntl is not None else None
    if descriptor is None:
        yield
        return
    try:
        _wait(descriptor, longest_wait)
        yield
    finally:
        # Closing is not enough: a child forked meanwhile has the descriptor too, and with it the lock.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None  # a table that is only being created has no folder yet; the commit names other failures


def _wait(descriptor: int, seconds: float) -> None:
    """Take the lock, unless others have it for too long or the file system has none."""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(random.random() * 2 * _POLL_S)
        except OSError:
            return
        else:
            return
