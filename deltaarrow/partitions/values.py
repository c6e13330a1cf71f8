"""A partition value and its text in the log: chapter *Partition Value Serialization* of the protocol.

The conversions of a value::

    row        2026-01-01 00:00:00.5 UTC           what the user sees
     │  render_partition_value
    log        "2026-01-01T00:00:00.500000Z"       add.partitionValues, the value that counts
     │  parse_partition_value(s)
    row        the same value

    row        2026-01-01 00:00:00.5 UTC
     │  partition_folder
    path       ts=2026-01-01 00%3A00%3A00.5        for people; never parsed

Written texts are those of Spark. Read is every text that tables are known to contain and that Spark reads
without changing the value:

=============  =====================================  =============================================
type           written                                also read
=============  =====================================  =============================================
string         as it is; empty as NULL                empty as empty
binary         its UTF-8 text; empty as NULL          the bytes of any text
boolean        true, false                            t, yes, y, 1, f, no, n, 0, in any case
byte .. long   -128                                   +5, 05, 5.0
decimal(p,s)   1.50 (always s decimals)               1.5, 1.500, 1.5e0
float, double  1.5, 1.0E7, NaN, -Infinity, -0.0       1, 1e7, 1.5d, inf, nan, in any case
date           2026-01-01                             2026-1-1, 2026-01, 2026, a time after it
timestamp      2026-01-01T00:00:00.500000Z            local text 2026-01-01 00:00:00.5 (as UTC), any
                                                      offset or zone, a date alone
timestamp_ntz  2026-01-01 00:00:00.5                  2026-01-01T00:00:00.5, a zone (left out)
=============  =====================================  =============================================

If a binary value is not UTF-8, Spark stores U+FFFD for the bytes that are not, and reads that afterwards.
Spaces around a value other than a string are ignored. A missing value is NULL and, except for strings and
binaries, so is an empty one. Spark reads any other text as NULL; here it is an error, because a row of that
file would show NULL for a value that was written.
"""

import datetime as dt
import decimal
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.partitions.java import render_double, render_float
from deltaarrow.schema import PrimitiveType, UnreadableColumnError

__all__ = ["parse_partition_value", "render_partition_value", "render_timestamp"]

_INTEGER_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
_INTEGER = re.compile(r"([+-]?[0-9]+)(?:\.0*)?")
_FLOAT = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)[df]?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_DATE = re.compile(r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?")
_TIMESTAMP = re.compile(
    r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?)?\ *([^\ ].*)?)?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?(?::?([0-9]{2}))?")
_EXACT = decimal.Context(prec=100, traps=[decimal.InvalidOperation, decimal.Inexact])
_MAX_DIGITS = 38


def parse_partition_value(text: str | None, data_type: PrimitiveType, column: str = "") -> Any:
    """Parse a text from ``partitionValues``.

    Args:
        text: the text, None for NULL.
        data_type: the type of the column.
        column: its name, for error messages.

    Returns:
        A str, bytes, bool, int, float, Decimal, date or datetime (aware and in UTC for
        ``timestamp``, naive for ``timestamp_ntz``), or None.

    Raises:
        CorruptLogError: the text is not a value of that type.
        UnsupportedFeatureError: a date before year 1 or after year 9999, or a type that cannot
            partition a table.

    >>> parse_partition_value("1.5", PrimitiveType("decimal(10,2)"))
    Decimal('1.50')
    """
    name = data_type.type
    if text is None or name == "string":
        return text
    if name == "binary":
        return text.encode()
    if not text:
        return None
    stripped = text.strip()
    try:
        if data_type.decimal:
            return _parse_decimal(stripped, *data_type.decimal)
        if name in _INTEGER_BITS:
            return _parse_integer(stripped, _INTEGER_BITS[name])
        if name in _PARSERS:
            return _PARSERS[name](stripped)
    except UnsupportedFeatureError as error:
        raise type(error)(f"{_where(column)}{error}", feature=error.feature) from None
    except (ValueError, LookupError, ArithmeticError, OSError) as error:
        raise CorruptLogError(f"{_where(column)}the text {text!r} is not a {name}") from error
    raise UnsupportedFeatureError(
        f"{_where(column)}a column of type {name} cannot partition a table", feature=name
    )


def render_partition_value(value: Any, data_type: PrimitiveType) -> str | None:
    """Render the text for ``partitionValues`` in a new action, as Spark writes it.

    Args:
        value: a value as `parse_partition_value` returns it for the type.
        data_type: the type of the column.

    Returns:
        The text, or None for NULL, the empty string and empty binaries.

    Raises:
        UnsupportedFeatureError: a binary value that is not UTF-8 (Spark corrupts those), or a type
            that cannot partition a table.
        TypeError, ValueError: the value is not of that type.

    >>> render_partition_value(1e7, PrimitiveType("double"))
    '1.0E7'
    """
    if value is None:
        return None
    name = data_type.type
    if data_type.decimal:
        return _render_decimal(value, *data_type.decimal)
    if name in _INTEGER_BITS:
        return _render_integer(value, _INTEGER_BITS[name])
    if name not in _RENDERERS:
        raise UnsupportedFeatureError(f"a column of type {name} cannot partition a table", feature=name)
    kind, render = _RENDERERS[name]
    if not isinstance(value, kind) or (name == "date" and isinstance(value, dt.datetime)):
        raise TypeError(f"{value!r} is not a {name}")
    return render(value) or None


def render_timestamp(value: dt.datetime) -> str:
    """A date and a time of day, separated by a space, with no more decimals than needed.

    >>> render_timestamp(dt.datetime(2026, 1, 1, 0, 0, 0, 500000))
    '2026-01-01 00:00:00.5'
    """
    text = value.replace(tzinfo=None).isoformat(sep=" ")
    return text.rstrip("0") if value.microsecond else text


def _parse_integer(text: str, bits: int) -> int:
    match = _INTEGER.fullmatch(text)
    if match is None or len(match[1]) > _MAX_DIGITS:
        raise ValueError(text)
    return _in_range(int(match[1]), bits)


def _render_integer(value: object, bits: int) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a whole number")
    return str(_in_range(value, bits))


def _in_range(value: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"{value} does not fit {bits} bits")
    return value


def _parse_decimal(text: str, precision: int, scale: int) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(text)
    return _fit(Decimal(text), precision, scale)


def _render_decimal(value: object, precision: int, scale: int) -> str:
    if not isinstance(value, Decimal):
        raise TypeError(f"{value!r} is not a Decimal")
    return format(_fit(value, precision, scale), "f")


def _fit(value: Decimal, precision: int, scale: int) -> Decimal:
    """The same value with exactly `scale` decimals; Spark has no negative zero."""
    if not value.is_finite() or (value and value.adjusted() >= precision - scale):
        raise ValueError(f"{value} does not fit decimal({precision},{scale})")
    try:
        fitted = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    except decimal.DecimalException as error:
        raise ValueError(f"{value} has more than {scale} decimals") from error
    return fitted if fitted else fitted.copy_abs()


def _parse_double(text: str) -> float:
    lowered = text.lower()
    if _NOT_FINITE.fullmatch(lowered):
        return float(lowered)
    match = _FLOAT.fullmatch(lowered)
    if match is None or math.isinf(float(match[1])):
        raise ValueError(text)
    return float(match[1])


def _parse_float(text: str) -> float:
    exact = _parse_double(text)
    with np.errstate(over="ignore"):
        rounded = float(np.float32(exact))
    if math.isinf(rounded) and not math.isinf(exact):
        raise ValueError(text)
    return rounded


def _parse_boolean(text: str) -> bool:
    return _BOOLEANS[text.lower()]


def _parse_date(text: str) -> dt.date:
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return dt.date(_year(match[1]), int(match[2] or 1), int(match[3] or 1))


def _parse_timestamp_ntz(text: str) -> dt.datetime:
    wall, zone = _parse_wall_time(text)
    _zone(zone)  # the zone must be valid, but is ignored as in Spark: the value is the wall time
    return wall


def _parse_timestamp(text: str) -> dt.datetime:
    wall, zone = _parse_wall_time(text)
    try:
        return wall.replace(tzinfo=_zone(zone)).astimezone(dt.UTC)
    except OverflowError as error:
        raise _unsupported_year(text) from error


def _parse_wall_time(text: str) -> tuple[dt.datetime, str]:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    nanoseconds = (fraction or "").ljust(9, "0")
    if nanoseconds[6:] != "000":
        raise ValueError(f"{text} has more than six decimals")
    date = (_year(year), int(month or 1), int(day or 1))
    time = (int(hour or 0), int(minute or 0), int(second or 0), int(nanoseconds[:6]))
    return dt.datetime(*date, *time), zone or "Z"


def _zone(text: str) -> dt.tzinfo:
    if text in ("Z", "UTC", "GMT", "UT"):
        return dt.UTC
    match = _OFFSET.fullmatch(text)
    if match is None:
        from zoneinfo import ZoneInfo

        return ZoneInfo(text)
    hours, minutes, seconds = (int(each or 0) for each in match.groups()[1:])
    offset = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return dt.timezone(-offset if match[1] == "-" else offset)


def _year(text: str) -> int:
    year = int(text)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise _unsupported_year(text)
    return year


def _unsupported_year(text: str) -> UnreadableColumnError:
    return UnreadableColumnError(
        f"the partition value {text!r} is outside the years 1 to 9999",
        feature="dates outside of years 1 to 9999",
    )


def _render_binary(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        feature = "binary partition values that are not UTF-8"
        raise UnsupportedFeatureError(
            f"{feature} cannot be stored ({value!r}; Spark would store U+FFFD for such bytes):"
            " partition by a column of their hexadecimal text",
            feature=feature,
        ) from error


def _render_instant(value: dt.datetime) -> str:
    if value.tzinfo is None:
        raise TypeError(f"{value!r} has no time zone")
    return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _render_wall_time(value: dt.datetime) -> str:
    if value.tzinfo is not None:
        raise TypeError(f"{value!r} has a time zone")
    return render_timestamp(value)


def _where(column: str) -> str:
    return f"partition column {column!r}: " if column else ""


_PARSERS: dict[str, Callable[[str], Any]] = {
    "boolean": _parse_boolean,
    "float": _parse_float,
    "double": _parse_double,
    "date": _parse_date,
    "timestamp": _parse_timestamp,
    "timestamp_ntz": _parse_timestamp_ntz,
}
_RENDERERS: dict[str, tuple[type, Callable[[Any], str]]] = {
    "string": (str, str),
    "binary": (bytes, _render_binary),
    "boolean": (bool, lambda value: str(value).lower()),
    "float": (float, render_float),
    "double": (float, render_double),
    "date": (dt.date, dt.date.isoformat),
    "timestamp": (dt.datetime, _render_instant),
    "timestamp_ntz": (dt.datetime, _render_wall_time),
}
