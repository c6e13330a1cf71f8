"""Conversion of variants to JSON text, as Spark's ``to_json`` writes it.

The text has no spaces. Fields are in the order of their names. Decimals have no trailing zeros, and
floating-point numbers have Java's spelling. NaN and infinities, binaries (in Base64), dates and times are in
quotes, such as ``2024-02-29 12:30:00.5``, with ``+00:00`` for UTC. Spark has no text for times of day and for
nanoseconds: they are written in the same way, with as many digits as they have.
"""

import base64
import math
import re
from typing import Any

import pyarrow as pa

from deltaarrow.partitions import render_double, render_float
from deltaarrow.variant.binary import visit
from deltaarrow.variant.encoding_numbers import DECIMAL_DIGITS, Primitive

__all__ = ["to_json"]

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_PER_SECOND = {
    Primitive.TIME: 10**6,
    Primitive.TIMESTAMP: 10**6,
    Primitive.TIMESTAMP_NTZ: 10**6,
    Primitive.TIMESTAMP_NANOS: 10**9,
    Primitive.TIMESTAMP_NTZ_NANOS: 10**9,
}
_IN_UTC = (Primitive.TIMESTAMP, Primitive.TIMESTAMP_NANOS)
_DAY = 86_400


def to_json(variants: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The JSON text of each variant of a ``struct<metadata, value>`` column; NULL for a NULL variant.

    Raises:
        CorruptDataFileError: a row is not a variant.

    >>> from deltaarrow.variant import variant_array
    >>> to_json(variant_array([{"b": [1, None], "a": 0.1}, "x", None])).to_pylist()
    ['{"a":0.1,"b":[1,null]}', '"x"', None]
    """
    return pa.array(
        [
            None if row is None else visit(row["metadata"], row["value"], _leaf, _array, _object)
            for row in variants.to_pylist()
        ],
        pa.string(),
    )


def _array(elements: list[str]) -> str:
    return f"[{','.join(elements)}]"


def _object(fields: list[tuple[str, str]]) -> str:
    return f"{{{','.join(f'{_quoted(name)}:{text}' for name, text in fields)}}}"


def _leaf(kind: Primitive, content: Any) -> str:
    if kind == Primitive.STRING:
        return _quoted(content)
    if content is None:
        return "null"
    if isinstance(content, bool):
        return "true" if content else "false"
    if kind in (Primitive.DOUBLE, Primitive.FLOAT):
        text = render_double(content) if kind == Primitive.DOUBLE else render_float(content)
        return text if math.isfinite(content) else f'"{text}"'
    if kind in DECIMAL_DIGITS:
        text = format(content, "f")
        return "0" if not content else text.rstrip("0").rstrip(".") if "." in text else text
    if kind == Primitive.BINARY:
        return f'"{base64.b64encode(content).decode()}"'
    if kind == Primitive.UUID:
        return f'"{content}"'
    if kind == Primitive.DATE:
        return f'"{_date(content)}"'
    if kind in _PER_SECOND:
        return f'"{_time(kind, content)}"'
    return str(content)


def _time(kind: Primitive, count: int) -> str:
    second, fraction = divmod(count, _PER_SECOND[kind])
    day, second = (0, second) if kind == Primitive.TIME else divmod(second, _DAY)
    text = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    if fraction:
        digits = len(str(_PER_SECOND[kind])) - 1
        text += f".{fraction:0{digits}}".rstrip("0")
    if kind == Primitive.TIME:
        return text
    return f"{_date(day)} {text}{'+00:00' if kind in _IN_UTC else ''}"


def _date(day: int) -> str:
    """The proleptic Gregorian date of a day since 1970, in any year.

    >>> [_date(day) for day in (0, 11_016, -719_529, 2_932_897)]
    ['1970-01-01', '2000-02-29', '-0001-12-31', '+10000-01-01']
    """
    # Counted in years that begin in March, and in eras of 400 years.
    era, day_of_era = divmod(day + 719_468, 146_097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day_of_month = day_of_year - (153 * month + 2) // 5 + 1
    month, year = (month + 3, year) if month < 10 else (month - 9, year + 1)
    year += 400 * era
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day_of_month:02}"


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04X}"
