"""Functions on two decimals that the SQL of expressions calls; they compute in Python's unbounded integers.

DuckDB computes the units of decimals in 128 bits, so SQL calls these functions where a step of Spark's exact
arithmetic may need more. A result is rounded half up to its scale; it is NULL beside NULL, for a divisor of
0, and beyond the precision of its type.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from deltaarrow.spark_sql.kernel_calls import DECIMAL_CALL, Kernel

__all__ = ["decimal_kernels"]

Operation: TypeAlias = Callable[[int, int], int | None]
"""From the units of two decimals to those of the result; None if there is no result."""

_QUOTIENT_DIGITS = 39
"""Digits of the whole quotient with which Java computes a remainder."""


def decimal_kernels(sql: str) -> Iterator[tuple[str, Kernel]]:
    """The functions on decimals that SQL calls, by name; see `DECIMAL_CALL`."""
    for name, operation, digits in set(DECIMAL_CALL.findall(sql)):
        yield name, _kernel(operation, digits)


@cache
def _kernel(operation: str, digits: str) -> Kernel:
    # It is cached for good: DuckDB's database keeps a function longer than the connection that owns it.
    p1, s1, p2, s2, precision, scale = map(int, digits.split("_"))
    operands = f"DECIMAL({p1},{s1})", f"DECIMAL({p2},{s2})"
    compute = _over_arrays(_OPERATIONS[operation](s1, s2, scale), pa.decimal128(precision, scale))
    return Kernel(compute, operands, f"DECIMAL({precision},{scale})")


def _over_arrays(operation: Operation, result: pa.Decimal128Type) -> Callable[..., pa.Array]:
    limit = 10**result.precision

    def compute(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
        found = [
            None if a is None or b is None else operation(a, b)
            for a, b in zip(_units(left), _units(right), strict=True)
        ]
        is_valid = [each is not None and -limit < each < limit for each in found]
        words = [
            each.to_bytes(16, "little", signed=True) if valid and each is not None else bytes(16)
            for each, valid in zip(found, is_valid, strict=True)
        ]
        validity = pa.array(is_valid, pa.bool_()).buffers()[1]
        return pa.Array.from_buffers(result, len(found), [validity, pa.py_buffer(b"".join(words))])

    return compute


def _units(column: pa.ChunkedArray) -> list[int | None]:
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
    words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset :][: 2 * len(array)]
    lows, highs = words[::2].view(np.uint64).tolist(), words[1::2].tolist()
    found: list[int | None] = [high << 64 | low for low, high in zip(lows, highs, strict=True)]
    if array.null_count:
        valid = array.is_valid().to_pylist()
        return [each if is_valid else None for each, is_valid in zip(found, valid, strict=True)]
    return found


def _half_up(dividend: int, divisor: int) -> int:
    """The integer nearest to a quotient; of two, the one farther from 0."""
    found = (2 * abs(dividend) + abs(divisor)) // (2 * abs(divisor))
    return found if (dividend < 0) == (divisor < 0) else -found


def _factors(s1: int, s2: int) -> tuple[int, int]:
    """What brings units of two scales to the greater one."""
    scale = max(s1, s2)
    return 10 ** (scale - s1), 10 ** (scale - s2)


def _plus(s1: int, s2: int, scale: int) -> Operation:
    one, other = _factors(s1, s2)
    dropped = 10 ** (max(s1, s2) - scale)
    return lambda a, b: _half_up(a * one + b * other, dropped)


def _minus(s1: int, s2: int, scale: int) -> Operation:
    add = _plus(s1, s2, scale)
    return lambda a, b: add(a, -b)


def _times(s1: int, s2: int, scale: int) -> Operation:
    dropped = 10 ** (s1 + s2 - scale)
    return lambda a, b: _half_up(a * b, dropped)


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
