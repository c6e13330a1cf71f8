"""Results on the terminal: tables for people, one JSON document for programs.

Names and values in a table come from strangers: they are printed without markup and with control characters
escaped, so that no table can manipulate its reader's terminal.
"""

import base64
import datetime
import decimal
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = [
    "cell_text",
    "json_bytes",
    "print_json",
    "print_mapping",
    "print_rows",
    "printable",
    "rows_of",
]

_MAX_CELL = 200
"""Characters of a line of a cell that are shown to people; JSON output has all of them."""

_MAX_LINES = 60

_INFINITIES = {
    pa.date32(): 2**31 - 1,
    **{pa.timestamp(unit): 2**63 - 1 for unit in ("s", "ms", "us", "ns")},
}
"""DuckDB's numbers for the infinities of dates and timestamps; the negative one is the negated number."""

_NOTHING, _MINUTE = datetime.timedelta(), datetime.timedelta(minutes=1)


def print_json(value: Any) -> None:
    """Print `value` as one JSON document on standard output.

    Values that JSON cannot hold become strings: bytes in base64, decimals and dates in their usual format,
    ``NaN`` and the infinities as in Delta's statistics.
    """
    options = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
    print(orjson.dumps(_jsonable(value), default=str, option=options).decode())


def json_bytes(value: Any) -> bytes:
    """Return `value` as JSON on one line, with the strings of `print_json`."""
    return orjson.dumps(_jsonable(value), default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of `table`; a time that Python cannot hold, such as a date BC, is a text."""
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows
    except (ValueError, OverflowError):
        columns = [[_value(item) for item in column] for column in table.columns]
        return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def print_rows(
    console: Console,
    rows: Sequence[Mapping[str, Any]],
    columns: Iterable[str],
    *,
    title: str | None = None,
    total: int | None = None,
) -> None:
    """Print `rows` as a table with `columns`; `total` is the number of rows if not all are shown."""
    table = Table(title=None if title is None else Text(printable(title)), title_justify="left")
    names = list(columns)
    numbers = {name for name in names if all(_is_number(row.get(name)) for row in rows)}
    for name in names:
        table.add_column(
            Text(printable(name)), overflow="fold", justify="right" if name in numbers else "left"
        )
    for row in rows:
        table.add_row(*(Text(_cell(row.get(name))) for name in names))
    console.print(table)
    if total is not None and total > len(rows):
        console.print(Text(f"{len(rows)} of {total} rows"))


def print_mapping(console: Console, values: Mapping[str, Any]) -> None:
    """Print `values` as a table with a row for each key."""
    print_rows(console, [{"name": key, "value": value} for key, value in values.items()], ["name", "value"])


def printable(text: str) -> str:
    """Return `text` on one line, with terminal control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        match scalar:
            case pa.StructScalar():
                return {name: _value(item) for name, item in scalar.items()}
            case pa.MapScalar():
                return [(_value(item["key"]), _value(item["value"])) for item in scalar.values]
            case pa.ListScalar() | pa.LargeListScalar() | pa.FixedSizeListScalar():
                return [_value(item) for item in scalar.values]
        if pa.types.is_timestamp(scalar.type) and scalar.type.tz is not None:
            in_utc = _value(pa.scalar(scalar.value, pa.timestamp(scalar.type.unit)))
            return f"{in_utc}Z" if str(in_utc)[-1:].isdigit() else in_utc
        infinity = _INFINITIES.get(scalar.type)
        if infinity is not None and abs(scalar.value) == infinity:
            return "infinity" if scalar.value > 0 else "-infinity"
        return scalar.cast(pa.string()).as_py()


def cell_text(value: Any) -> str:
    """Return a value as text."""
    match value:
        case None:
            return ""
        case str():
            return value
        case datetime.datetime():
            return value.isoformat(sep=" ").replace("+00:00", "Z")
        case bytes():
            return value.hex()
        case dict() | list() | tuple():
            return json_bytes(value).decode()
        case _:
            return str(value)


def _cell(value: Any) -> str:
    """A value on as many lines as its text has, such as a plan."""
    lines = [printable(line) for line in cell_text(value).split("\n")]
    shown = [line if len(line) <= _MAX_CELL else f"{line[: _MAX_CELL - 1]}…" for line in lines[:_MAX_LINES]]
    return "\n".join(shown if len(lines) <= _MAX_LINES else [*shown, "…"])


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool))


def _jsonable(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case int() if not isinstance(value, bool) and not -(2**63) <= value < 2**64:
            return str(value)
        case datetime.datetime() if (value.utcoffset() or _NOTHING) % _MINUTE:
            return value.isoformat()  # orjson leaves out the seconds of an offset
        case Mapping():
            return {key: _jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [_jsonable(item) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case decimal.Decimal() | datetime.timedelta():
            return str(value)
        case _:
            return value
