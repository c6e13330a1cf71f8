"""Functions on two decimals that the SQL of expressions calls; they compute in Python's unbounded integers.

DuckDB computes the units of decimals in 128 bits, so SQL calls these functions where a step of Spark's exact
arithmetic may need more. A result is rounded half up to its scale; it is NULL beside NULL, for a divisor of
0, and beyond the precision of its type.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.spark_sql.tree.kernel_calls import DECIMAL_CALL, Digits, Kernel
from deltaarrow.spark_sql.types.type_rules import MAX_PRECISION

__all__ = ["decimal_kernels"]

Operation: TypeAlias = Callable[[int, int], int | None]
"""From the units of two decimals to those of the result; None if there is no result."""

_QUOTIENT_DIGITS = 39
"""Digits of the whole quotient with which Java computes a remainder."""


def decimal_kernels(sql: str) -> Iterator[tuple[str, Kernel]]:
    """The functions on decimals that SQL calls, by name; see `DECIMAL_CALL`."""
    for name, operation, digits in set(DECIMAL_CALL.findall(sql)):
        p1, s1, p2, s2, precision, scale = map(int, digits.split("_"))
        types = (p1, s1), (p2, s2), (precision, scale)
        # A string of the user's may look like a name.
        if operation in _OPERATIONS and all(s <= p and 1 <= p <= MAX_PRECISION for p, s in types):
            yield name, _kernel(operation, *types)


@cache
def _kernel(operation: str, left: Digits, right: Digits, result: Digits) -> Kernel:
    # It is cached for good: DuckDB's database keeps a function longer than the connection that owns it.
    compute = _over_arrays(_OPERATIONS[operation](left[1], right[1], result[1]), pa.decimal128(*result))
    one, other, found = (f"DECIMAL({precision},{scale})" for precision, scale in (left, right, result))
    return Kernel(compute, (one, other), found)


def _over_arrays(operation: Operation, result: pa.Decimal128Type) -> Callable[..., pa.Array]:
    limit = 10**result.precision

    def compute(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
        one, other = left.combine_chunks(), right.combine_chunks()
        is_valid = pc.and_(one.is_valid(), other.is_valid())
        # What the slots of NULL hold is computed as well, and left out at the end.
        found: list[Any] = list(map(operation, _units(one), _units(other)))
        if None in found or max(found, default=0) >= limit or min(found, default=0) <= -limit:
            fits = [each is not None and -limit < each < limit for each in found]
            is_valid = pc.and_(is_valid, pa.array(fits))
            found = [each if fit else 0 for each, fit in zip(found, fits, strict=True)]
        words = b"".join([each.to_bytes(16, "little", signed=True) for each in found])
        return pa.Array.from_buffers(result, len(found), [is_valid.buffers()[1], pa.py_buffer(words)])

    return compute


def _units(column: pa.Decimal128Array) -> list[int]:
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset :][: 2 * len(column)]
    low, high = words[::2], words[1::2]
    if np.array_equal(high, low >> 63):
        short: list[int] = low.tolist()
        return short
    lows, highs = low.view(np.uint64).tolist(), high.tolist()
    return [above << 64 | below for above, below in zip(highs, lows, strict=True)]


def _half_up(dividend: int, divisor: int) -> int:
    """The integer nearest to a quotient; of two, the one farther from 0."""
    found = (2 * abs(dividend) + abs(divisor)) // (2 * abs(divisor))
    return found if (dividend < 0) == (divisor < 0) else -found


def _without_digits(dropped: int) -> Callable[[int], int]:
    """Like `_half_up` for a divisor that is a power of ten."""
    divisor = 10**dropped
    half = divisor // 2
    return lambda number: (number + half) // divisor if number >= 0 else -((half - number) // divisor)


def _factors(s1: int, s2: int) -> tuple[int, int]:
    """What brings units of two scales to the greater one."""
    scale = max(s1, s2)
    return 10 ** (scale - s1), 10 ** (scale - s2)


def _plus(s1: int, s2: int, scale: int) -> Operation:
    one, other = _factors(s1, s2)
    rounded = _without_digits(max(s1, s2) - scale)
    return lambda a, b: rounded(a * one + b * other)


def _minus(s1: int, s2: int, scale: int) -> Operation:
    add = _plus(s1, s2, scale)
    return lambda a, b: add(a, -b)


def _times(s1: int, s2: int, scale: int) -> Operation:
    rounded = _without_digits(s1 + s2 - scale)
    return lambda a, b: rounded(a * b)


def _over(s1: int, s2: int, scale: int) -> Operation:
    factor = 10 ** (scale - s1 + s2)
    return lambda a, b: _half_up(a * factor, b) if b else None


def _whole(s1: int, s2: int, scale: int) -> Operation:
    """The quotient without its fraction, if it is a long."""
    one, other = _factors(s1, s2)

    def whole(a: int, b: int) -> int | None:
        if not b:
            return None
        found = abs(a) * one // (abs(b) * other)
        signed = found if (a < 0) == (b < 0) else -found
        return signed if -(1 << 63) <= signed < 1 << 63 else None

    return whole


def _rest(s1: int, s2: int, scale: int) -> Operation:
    """The remainder; there is none if the whole quotient has digits behind those that Java computes."""
    one, other = _factors(s1, s2)

    def rest(a: int, b: int) -> int | None:
        if not b:
            return None
        whole, found = divmod(abs(a) * one, abs(b) * other)
        if whole % 10 ** max(len(str(whole)) - _QUOTIENT_DIGITS, 0):
            return None
        return -found if a < 0 else found

    return rest


_OPERATIONS: dict[str, Callable[[int, int, int], Operation]] = {
    "plus": _plus,
    "minus": _minus,
    "times": _times,
    "over": _over,
    "whole": _whole,
    "rest": _rest,
}
"""Each operation for the scales of its operands and of its result."""
