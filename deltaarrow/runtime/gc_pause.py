"""Pauses the garbage collector during bulk allocation."""

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["gc_paused"]


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the collector while many long-lived objects are created; then restore its state.

    It would scan them again and again: a fifth to a third of the time of parsing tens of thousands of
    actions, and as much of importing a library with many classes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
