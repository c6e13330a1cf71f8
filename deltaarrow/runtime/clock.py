"""The one source of "now": everything that depends on the time takes a `Clock`."""

import time
from collections.abc import Callable

__all__ = ["Clock", "system_clock"]

Clock = Callable[[], int]
"""Returns milliseconds since the Unix epoch."""


def system_clock() -> int:
    """Return the system time in milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000
