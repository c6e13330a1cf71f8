"""Floating-point numbers in the format of Java's ``Double.toString`` and ``Float.toString``, as in Spark.

Plain digits from 0.001 up to ten million; outside that range one digit before the point and an ``E``. As few
digits as identify the number, but at least one on each side of the point. (Java before 19 sometimes writes
more digits; they parse to the same number.)
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
    """The text of a 32-bit float.

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
        # If one digit suffices, Java takes the nearest number of two digits.
        nearest = f"{float(value):.1e}"
        if type(value)(nearest) == value:
            mantissa, _, exponent = nearest.partition("e")
    return f"{mantissa}E{int(exponent)}"
