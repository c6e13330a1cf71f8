"""How many examples the property tests try: few every day, many times as many before a release."""

import os

__all__ = ["examples"]

_FACTOR = int(os.environ.get("DELTAARROW_TEST_EXAMPLES", "1"))


def examples(count: int) -> int:
    """Return how many examples a test tries that tries `count` of them every day.

    The environment variable ``DELTAARROW_TEST_EXAMPLES`` multiplies it.
    """
    return count * _FACTOR
