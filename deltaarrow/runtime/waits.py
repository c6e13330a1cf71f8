"""Waits between the attempts of a request to a server."""

import random

__all__ = ["ATTEMPTS", "wait_seconds"]

ATTEMPTS = 5
"""How often a question is asked."""

_LONGEST_WAIT_S = 10.0


def wait_seconds(attempt: int, after: str | None, retry_delay: float) -> float:
    """Return the seconds before the next attempt.

    Args:
        attempt: the number of the last one, from 0.
        after: the server's own wish, which counts if it is a number of seconds.
        retry_delay: seconds before the second attempt; each further wait is twice as long.
    """
    if after is not None and after.isascii() and after.isdecimal():
        return min(float(after), _LONGEST_WAIT_S)
    delay: float = min(retry_delay * 2**attempt, _LONGEST_WAIT_S)
    return delay * random.uniform(0.5, 1.0)
