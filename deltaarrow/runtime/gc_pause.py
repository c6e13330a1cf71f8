"""Pauses the garbage collector during bulk allocation."""

import contextlib
import gc
import sys
from collections.abc import Iterator

__all__ = ["gc_paused", "importing"]

_is_left_alone = False
"""Whether the program was seen to freeze objects."""


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
    global _is_left_alone
    known = len(sys.modules)
    with gc_paused():
        yield
        if len(sys.modules) == known or _is_left_alone:
            return
        # What the program itself has frozen stays frozen. To count it visits each object, so once is enough.
        _is_left_alone = gc.get_freeze_count() > 0
        if not _is_left_alone:
            gc.freeze()
            gc.unfreeze()  # objects that are thawed are old ones
