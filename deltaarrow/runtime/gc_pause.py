"""Pauses the garbage collector during bulk allocation."""

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["gc_paused"]


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the collector while many objects are made that all stay; leave it as it was.

    It would go over them again and again: a fifth to a third of the time of parsing tens of thousands of
    actions, and as much of importing a library of many classes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
