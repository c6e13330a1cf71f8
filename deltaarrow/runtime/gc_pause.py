"""Pauses the garbage collector during bulk allocation."""

import contextlib
import gc
import sys
from collections.abc import Iterator

__all__ = ["gc_paused", "importing"]


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


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Pause the collector while modules are imported, and count the objects of new modules as old ones.

    They stay until the process ends, but the next scans of young objects would visit each of them.
    """
    known = len(sys.modules)
    with gc_paused():
        yield
        # Objects that are thawed are old ones. What the program itself has frozen stays frozen.
        if len(sys.modules) > known and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
