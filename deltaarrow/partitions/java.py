"""Floating-point numbers as Java's ``Double.toString`` and ``Float.toString`` spell them, since Spark does.

Plain digits from 0.001 up to ten million, one digit before the point and an ``E`` outside; the fewest
digits that tell the number from its neighbours, but at least one on each side of the point. (Java
before 19 at times writes more digits than that; they read back to the same number.)
"""

import math

import numpy as np

__all__ = ["render_double", "render_float"]

_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7


def render_double(value: float) -> str:
    """The text of a double.

    >>> [render_double(each) for each in (100.0, 1e7, 0.000999, -0.0, float("-inf"), 5e-324)]
    ['100.0', '1.0E7', '9.99E-4', '-0.0', '-Infinity', '4.9E-324']
    """
    return _render(np.float64(value))


def render_float(value: float) -> str:
    """The text of a float, which is a number of 32 bits.

    >>> [render_float(each) for each in (0.1, 1e10, 1.4e-45)]
    ['0.1', '1.0E10', '1.4E-45']
    """
    return _render(np.float32(value))


def _render(value: np.float64 | np.float32) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_FROM <= abs(float(value)) < _PLAIN_BELOW:
        return np.format_float_positional(value, unique=True, trim="0")
    mantissa, _, exponent = np.format_float_scientific(value, unique=True, trim="0").partition("e")
    if mantissa.endswith(".0"):
        # Where one digit would do, Java takes the nearest of all numbers of two digits.
        nearest = f"{float(value):.1e}"
        if type(value)(nearest) == value:
            mantissa, _, exponent = nearest.partition("e")
    return f"{mantissa}E{int(exponent)}"
