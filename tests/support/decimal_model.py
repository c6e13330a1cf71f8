"""Spark's decimal arithmetic in Python's integers: a model for tests, without code of the package.

A decimal is its units and a scale. `result` returns the type of an operation and the units of its value; it
raises `BeyondError` where Spark raises.
"""

__all__ = ["BeyondError", "common_type", "rescaled", "result"]

Digits = tuple[int, int]
"""Precision and scale."""


class BeyondError(ArithmeticError):
    """A result that has too many digits, or a division by zero."""


def result(sign: str, one: int, left: Digits, other: int, right: Digits) -> tuple[Digits, int]:
    """Type and units of ``one sign other``; of ``div`` the type is that of a long as a decimal."""
    (p1, s1), (p2, s2) = left, right
    scale = max(s1, s2)
    whole = max(p1 - s1, p2 - s2)
    a, b = one * 10 ** (scale - s1), other * 10 ** (scale - s2)
    if sign in ("+", "-"):
        return _in_type(a + b if sign == "+" else a - b, scale, _adjusted(whole + scale + 1, scale))
    if sign == "*":
        return _in_type(one * other, s1 + s2, _adjusted(p1 + p2 + 1, s1 + s2))
    if other == 0:
        raise BeyondError
    if sign == "/":
        places = max(6, s1 + p2 + 1)
        wanted = _adjusted(p1 - s1 + s2 + places, places)
        return _in_type(_half_up(a * 10 ** wanted[1], b), wanted[1], wanted)
    quotient, rest = divmod(abs(a), abs(b))
    if sign == "div":
        signed = quotient if (a < 0) == (b < 0) else -quotient
        if not -(2**63) <= signed < 2**63:
            raise BeyondError
        return (20, 0), signed
    assert sign == "%"
    digits = len(str(quotient))
    if digits > 39 and quotient % 10 ** (digits - 39):
        raise BeyondError
    return _in_type(-rest if a < 0 else rest, scale, (min(p1 - s1, p2 - s2) + scale, scale))


def common_type(left: Digits, right: Digits) -> Digits:
    """The type in which two decimals are compared, and of a column that has both."""
    scale = max(left[1], right[1])
    whole = max(left[0] - left[1], right[0] - right[1])
    return min(whole + scale, 38), min(scale, 38 - whole)


def rescaled(number: int, scale: int, wanted: Digits) -> int:
    """The units of a number in another type."""
    return _in_type(number, scale, wanted)[1]


def _adjusted(precision: int, scale: int) -> Digits:
    if precision <= 38:
        return precision, scale
    return 38, max(38 - (precision - scale), min(scale, 6))


def _in_type(number: int, scale: int, wanted: Digits) -> tuple[Digits, int]:
    found = _half_up(number * 10 ** wanted[1], 10**scale)
    if abs(found) >= 10 ** wanted[0]:
        raise BeyondError
    return wanted, found


def _half_up(dividend: int, divisor: int) -> int:
    quotient = (2 * abs(dividend) + abs(divisor)) // (2 * abs(divisor))
    return quotient if (dividend < 0) == (divisor < 0) else -quotient
