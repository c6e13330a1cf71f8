"""How many examples the property tests try: few every day, many times as many in a slow test."""

import os

__all__ = ["examples"]

_FACTOR = int(os.environ.get("DELTAARROW_TEST_EXAMPLES", "1"))


def examples(count: int) -> int:
    """Return how many examples a test tries that tries `count` of them every day.

    The environment variable ``DELTAARROW_TEST_EXAMPLES`` multiplies it, as in `tests.support.test_examples`.
    """
    return count * _FACTOR
