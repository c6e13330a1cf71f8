"""Rendering of statistics as JSON text, identical to delta-spark's (PROTOCOL.md, *Per-file Statistics*).

Bounds have the form of Parquet footers, so the ranges of Python's date and number types do not limit them:

============================  ==============================  ==================================
type                          bound                           JSON
============================  ==============================  ==================================
byte .. long                  int                             ``-5``
float, double                 float                           ``1.0E7``, ``"NaN"``, ``"Infinity"``
decimal(p,s)                  int, the digits without point   ``123.40``, ``1.000E-7``
date                          int, days since 1970            ``"2020-01-31"``, ``"+10000-01-01"``
timestamp                     int, microseconds since 1970    ``"1969-12-31T23:59:59.999Z"``
timestamp_ntz                 int, microseconds since 1970    ``"1969-12-31T23:59:59.999"``
string                        UTF-8 bytes                     ``"abc"``, cut to a prefix
============================  ==============================  ==================================

Timestamps are truncated to milliseconds, so readers add one millisecond to the upper bound. A truncated
maximum ends in a character that sorts after the removed part.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from deltaarrow.partitions import render_double, render_float
from deltaarrow.schema import FLOATING, DataType, PrimitiveType

__all__ = [
    "Bound",
    "JsonTree",
    "bound_renderer",
    "nest",
    "render_bound",
    "render_statistics",
    "render_tree",
    "truncate_max",
]

Bound = int | float | bytes
"""The minimum or maximum of a column, in the form of this module's table."""

JsonTree = dict[str, "JsonTree | str"]
"""A JSON object whose leaves are already JSON text, so that numbers keep Spark's spelling."""

_LAST_ASCII = "\x7f"
_LAST_CHARACTER = "\U0010ffff"
_DAYS_IN_ERA = 146_097
_MICROSECONDS_IN_DAY = 86_400_000_000
_ANY_DECIMAL = Context(prec=38)
_JSON = json.JSONEncoder(ensure_ascii=False)
# Spark's JSON library Jackson writes \u escapes with capital digits.
_LOWER_ESCAPE = re.compile(r"(\\\\)|\\u([0-9a-f]{4})")


def render_statistics(
    num_records: int,
    min_values: JsonTree | None,
    max_values: JsonTree | None,
    null_count: JsonTree | None,
    *,
    tight_bounds: bool | None = None,
) -> str:
    """Return the text of ``add.stats``, with keys in Spark's order; None values are left out.

    >>> render_statistics(3, {"a": "1"}, {"a": "2"}, {"a": "0"}, tight_bounds=True)
    '{"numRecords":3,"minValues":{"a":1},"maxValues":{"a":2},"nullCount":{"a":0},"tightBounds":true}'
    """
    members: JsonTree = {"numRecords": str(num_records)}
    for key, tree in (("minValues", min_values), ("maxValues", max_values), ("nullCount", null_count)):
        if tree is not None:
            members[key] = tree
    if tight_bounds is not None:
        members["tightBounds"] = "true" if tight_bounds else "false"
    return render_tree(members)


def nest(leaves: Iterable[tuple[Sequence[str], str | None]]) -> JsonTree | None:
    """Nest leaves by their paths; a leaf without text keeps its empty parents, as in Spark.

    Returns None without leaves.

    >>> nest([(("a", "b"), "1"), (("a", "c"), "2"), (("d", "e"), None)])
    {'a': {'b': '1', 'c': '2'}, 'd': {}}
    """
    tree: JsonTree | None = None
    for path, text in leaves:
        node = tree = {} if tree is None else tree
        for name in path[:-1]:
            child = node.setdefault(name, {})
            assert isinstance(child, dict)  # a struct and a leaf cannot have the same name
            node = child
        if text is not None:
            node[path[-1]] = text
    return tree


def render_bound(bound: Bound, data_type: DataType, prefix_length: int, *, upper: bool) -> str | None:
    r"""Return a bound as JSON text, or None if Spark writes none.

    Args:
        bound: the value, in the form of this module's table.
        data_type: the type of the column.
        prefix_length: the number of characters to keep of a string.
        upper: whether the bound is the maximum.

    >>> render_bound(-1, PrimitiveType("timestamp"), 32, upper=True)
    '"1969-12-31T23:59:59.999Z"'
    >>> render_bound(b"abcdef", PrimitiveType("string"), 3, upper=True)
    '"abc\x7f"'
    """
    return bound_renderer(data_type, prefix_length, upper=upper)(bound)


def bound_renderer(data_type: DataType, prefix_length: int, *, upper: bool) -> Callable[[Any], str | None]:
    """Return `render_bound` for one column, which is quicker for many bounds.

    >>> list(map(bound_renderer(PrimitiveType("decimal(5,2)"), 32, upper=True), [150, -5]))
    ['1.50', '-0.05']
    """
    assert isinstance(data_type, PrimitiveType)
    name = data_type.type
    if data_type in FLOATING:
        return lambda bound: _render_number(bound, is_float=name == "float")
    if data_type.decimal:
        scale = -data_type.decimal[1]
        return lambda bound: str(Decimal(bound).scaleb(scale, _ANY_DECIMAL))
    if name == "date":
        return lambda bound: f'"{_render_date(bound)}"'
    if name in ("timestamp", "timestamp_ntz"):
        zone = "Z" if name == "timestamp" else ""
        return lambda bound: f'"{_render_timestamp(bound)}{zone}"'
    if name == "string":
        return lambda bound: _render_text(bound, prefix_length, upper=upper)
    return str


def _render_text(bound: bytes, prefix_length: int, *, upper: bool) -> str | None:
    try:
        text = bound.decode()
    except UnicodeDecodeError:
        return None
    # Spark counts characters in a minimum and UTF-16 units in a maximum.
    cut = truncate_max(text, prefix_length) if upper else text[:prefix_length]
    return None if cut is None else _render_string(cut)


def _render_number(bound: float, *, is_float: bool) -> str:
    text = render_float(bound) if is_float else render_double(bound)
    return text if math.isfinite(bound) else f'"{text}"'


def truncate_max(text: str, length: int) -> str | None:
    r"""Return a short text that is not less than the given one, in UTF-8 order; None if there is none.

    A text of more than `length` UTF-16 units (Java's measure) becomes its prefix and a tie-breaker: DEL if
    the first removed character sorts before DEL, else U+10FFFF. No character is split, so the prefix may be
    one unit longer. Because nothing sorts after U+10FFFF, the prefix grows over such characters, to at most
    twice the length.

    >>> truncate_max("delta lake", 5), truncate_max("åäö", 2)
    ('delta\x7f', 'åä\U0010ffff')
    """
    if _units(text) <= length:
        return text
    if length <= 0:
        return None
    end = _characters(text, length)
    units = _units(text[:end])
    while units <= 2 * length:
        if end == len(text):
            return text
        if text[end] != _LAST_CHARACTER:
            return text[:end] + (_LAST_ASCII if text[end] < _LAST_ASCII else _LAST_CHARACTER)
        end += 1
        units += 2
    return None


def render_tree(tree: JsonTree) -> str:
    """Return the text of a JSON object."""
    members = (
        f"{_render_string(key)}:{render_tree(value) if isinstance(value, dict) else value}"
        for key, value in tree.items()
    )
    return f"{{{','.join(members)}}}"


def _render_string(text: str) -> str:
    rendered = _JSON.encode(text)
    if "\\u" not in rendered:
        return rendered
    return _LOWER_ESCAPE.sub(lambda match: match[1] or f"\\u{match[2].upper()}", rendered)


# Files of a table have few days, and a timestamp has one too.
@lru_cache(maxsize=1 << 12)
def _render_date(days: int) -> str:
    # Delta dates exceed Python's years 1 to 9999. The calendar repeats every 400 years, so move the date
    # by whole eras of 400 years into Python's range.
    eras, day_in_era = divmod(days, _DAYS_IN_ERA)
    date = str(np.datetime64(day_in_era, "D"))
    year = int(date[:4]) + 400 * eras
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}{date[4:]}"


def _render_timestamp(microseconds: int) -> str:
    days, rest = divmod(microseconds, _MICROSECONDS_IN_DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{_render_date(days)}T{hour:02d}:{minute:02d}:{second:02d}.{fraction // 1000:03d}"


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _characters(text: str, units: int) -> int:
    """Return the number of characters that the first `units` UTF-16 units touch."""
    count = 0
    for character in text[:units]:
        if units <= 0:
            break
        units -= 2 if character > "\uffff" else 1
        count += 1
    return count
