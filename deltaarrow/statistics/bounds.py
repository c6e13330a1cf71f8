"""Safe lower and upper bounds of a column from a file's statistics, as DuckDB SQL.

Implements the reading side of *Per-file Statistics* of PROTOCOL.md. Values of ``minValues`` and
``maxValues``, in JSON or in the struct of a checkpoint, are not always bounds of the values in the file. Each
function here states the known deviations of writers and returns a bound that holds nevertheless, or NULL,
which proves nothing. Unreadable statistics (absent, broken JSON, a text that is not a value of the type) give
NULL too.

Bounds ignore NaN, because Parquet's statistics ignore it, and many writers take their statistics from there.
"""

from dataclasses import dataclass
from typing import TypeGuard

import pyarrow as pa

from deltaarrow.compute import quote_literal
from deltaarrow.partitions import duckdb_type
from deltaarrow.schema import DataType, Field, PrimitiveType, to_arrow_type
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY

__all__ = [
    "FileStatisticsSql",
    "bound_arrow_type",
    "has_bounds",
    "lower_bound",
    "upper_bound",
    "written_value",
]

_INTEGERS = ("byte", "short", "integer", "long")
_ORDERED = (*_INTEGERS, "boolean", "float", "double", "string", "date", "timestamp", "timestamp_ntz")
_EXACT_DIGITS = 15
"""The number of decimal digits that a double preserves."""
_OLD = "TIMESTAMPTZ '1973-01-01 00:00:00+00'"
_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[T ][0-9]{2}:[0-9]{2}[0-9:.]*"
_INSTANT = f"{_DAY}{_CLOCK}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}}){{0,2}})$"
_WALL_TIME = f"{_DAY}({_CLOCK}Z?)?$"
_TIE_BREAKERS = "\x7f\ufffd\U0010ffff"
_CUT_BYTES = 32
_LAST_BEFORE_SURROGATES, _FIRST_AFTER_SURROGATES = 0xD7FF, 0xE000


@dataclass(frozen=True)
class FileStatisticsSql:
    """The parts of a file's statistics as SQL over one row per file.

    Typed values of the struct have priority. The JSON text is used if the struct has no value, or one of a
    type that does not bound the column's values.

    Attributes:
        json: the SQL of the JSON text, ``add.stats``; None if absent.
        parsed: the SQL of the struct, ``add.stats_parsed``; None if absent.
        parsed_type: the Arrow type of the struct.
    """

    json: str | None
    parsed: str | None = None
    parsed_type: pa.DataType | None = None

    def text(self, *path: str) -> str:
        """Return the SQL of a JSON value as text, NULL if absent; `path` has physical names."""
        if self.json is None:
            return "NULL::VARCHAR"
        # TRY: broken JSON proves nothing, but must not fail the query.
        return f"TRY(json_extract_string({self.json}, {quote_literal(self.pointer(*path))}))"

    @staticmethod
    def pointer(*path: str) -> str:
        """Return the JSON pointer of a path; any name is allowed."""
        return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)

    def num_records(self) -> str:
        """Return the SQL of the number of rows in the data file, including deleted rows."""
        return self._count(("numRecords",), self.text("numRecords"))

    def null_count(self, path: tuple[str, ...]) -> str:
        """Return the SQL of the NULL count; only 0 and `num_records` are reliable, see `tightBounds`."""
        legacy = FileStatisticsSql(None if self.json is None else self.text("nullCounts"))
        return self._count(
            ("nullCount", *path), f"coalesce({self.text('nullCount', *path)}, {legacy.text(*path)})"
        )

    def is_all_null(self, path: tuple[str, ...], field: Field) -> str:
        """Return the SQL of whether every row is NULL; the count is read only if there is no minimum."""
        if not has_bounds(field.type):
            return f"{self.null_count(path)} = {self.num_records()}"
        least = ("minValues", *path)
        unknown = [f"{found} IS NULL" for found in (self.typed(least, field), self.text(*least)) if found]
        rarely = self.for_few()
        counted = f"{rarely.null_count(path)} = {rarely.num_records()}"
        return f"CASE WHEN {' AND '.join(unknown)} THEN {counted} ELSE FALSE END"

    def for_few(self) -> "FileStatisticsSql":
        """Return the statistics in a form for expressions that are evaluated for few rows."""
        return self

    def lower_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        """Return the SQL of a lower bound of all values except NaN; None for types without an order."""
        return lower_bound(field, self._value(("minValues", *path), field))

    def upper_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        """Return the SQL of an upper bound of all values except NaN; None for types without an order."""
        return upper_bound(field, self._value(("maxValues", *path), field))

    def _value(self, path: tuple[str, ...], field: Field) -> str:
        """Return the SQL of a written minimum or maximum in the column's type, before any widening."""
        return self._first(self.typed(path, field), written_value(field, self.text(*path)))

    def _count(self, path: tuple[str, ...], text: str) -> str:
        return self._first(self.typed(path, _COUNT), f"TRY_CAST({text} AS BIGINT)")

    def _first(self, typed: str | None, read: str) -> str:
        if typed is None:
            return read
        return typed if self.json is None else f"coalesce({typed}, {read})"

    def typed(self, path: tuple[str, ...], field: Field) -> str | None:
        """Return the SQL of a value of the struct; None if absent or of an unsuitable type."""
        if self.parsed is None or self.parsed_type is None:
            return None
        sql, arrow_type = self.parsed, self.parsed_type
        for name in path:
            # DuckDB's names are case-insensitive.
            like = [each for each in _members(arrow_type) if each.name.casefold() == name.casefold()]
            if [each.name for each in like] != [name]:
                return None
            sql, arrow_type = f"struct_extract({sql}, {quote_literal(name)})", like[0].type
        return _cast(field, sql, arrow_type)


_COUNT = Field("count", "long")


def _members(arrow_type: pa.DataType) -> list[pa.Field]:
    return list(arrow_type) if pa.types.is_struct(arrow_type) else []


def _cast(field: Field, sql: str, found: pa.DataType) -> str | None:
    """Return the SQL of a typed value in the column's type; None if the cast may be lossy.

    The checkpoint may be older than the present type of the column.
    """
    types, data_type = pa.types, field.type
    if not has_bounds(data_type):
        return None
    if types.is_dictionary(found):
        found = found.value_type
    is_integer = bool(types.is_signed_integer(found))
    match data_type.type:
        case name if name in _INTEGERS:
            accepts = is_integer
        case "boolean":
            accepts = bool(types.is_boolean(found))
        case "float":
            accepts = bool(types.is_float32(found))
        case "double":
            accepts = bool(types.is_float32(found) or types.is_float64(found)) or (
                is_integer and found.bit_width <= 32
            )
        case "string":
            accepts = bool(
                types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)
            )
        case "date":
            accepts = bool(types.is_date(found))
        case "timestamp":
            if types.is_timestamp(found) and found.tz is None and found.unit == "ns":
                # INT96 is UTC, but its type has no time zone.
                return f"timezone('UTC', CAST({sql} AS TIMESTAMP))"
            accepts = bool(types.is_timestamp(found) and found.tz is not None)
        case "timestamp_ntz":
            accepts = bool(types.is_date(found) or (types.is_timestamp(found) and found.tz is None))
        case _:
            assert data_type.decimal is not None
            accepts = is_integer or bool(types.is_decimal(found) and found.scale <= data_type.decimal[1])
    return f"TRY_CAST({sql} AS {_bound_type(data_type)})" if accepts else None


def has_bounds(data_type: DataType) -> TypeGuard[PrimitiveType]:
    """Whether values of a type are ordered, so statistics can bound them."""
    return isinstance(data_type, PrimitiveType) and (
        data_type.type in _ORDERED or data_type.decimal is not None
    )


def _bound_type(data_type: PrimitiveType) -> str:
    """Return the DuckDB type for computing bounds of a type."""
    if data_type.type in _INTEGERS:
        return "BIGINT"
    if data_type.decimal and data_type.decimal[0] > _EXACT_DIGITS:
        return f"DECIMAL(38, {data_type.decimal[1]})"
    return duckdb_type(data_type)


def bound_arrow_type(data_type: PrimitiveType) -> pa.DataType:
    """Return the Arrow type of the bounds of a type."""
    if data_type.type in _INTEGERS:
        return pa.int64()
    if data_type.decimal and data_type.decimal[0] > _EXACT_DIGITS:
        return pa.decimal128(38, data_type.decimal[1])
    return to_arrow_type(data_type)


def written_value(field: Field, text: str) -> str:
    """Return the SQL of a value of `minValues` or `maxValues`, given that of its text; NULL if invalid."""
    if not has_bounds(field.type):
        return "NULL"
    match field.type.type:
        case "string":
            return text
        case "boolean":
            return f"CASE {text} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
        case "date":
            return f"TRY_CAST(regexp_extract({text}, '{_DAY}$') AS DATE)"
        case "timestamp":
            # The pattern requires a zone: without one, the instant is unknown.
            return f"TRY_CAST(regexp_extract({text}, {quote_literal(_INSTANT)}) AS TIMESTAMPTZ)"
        case "timestamp_ntz":
            # The pattern also accepts a date, from before the column was widened.
            return f"TRY_CAST(regexp_extract({text}, {quote_literal(_WALL_TIME)}) AS TIMESTAMP)"
    return f"TRY_CAST({text} AS {_bound_type(field.type)})"


def lower_bound(field: Field, value: str) -> str | None:
    """Return the SQL of a lower bound, given that of the value in ``minValues``; see `written_value`."""
    if not has_bounds(field.type):
        return None
    match field.type.type:
        case "float" | "double":
            return _float_bound(field, value, "least")
        case "timestamp":
            # Java writes offsets in hours and minutes, but until 1972 some offsets had seconds.
            return _let(value, f"CASE WHEN x < {_OLD} THEN x - INTERVAL 1 MINUTE ELSE x END")
        case _ if field.type.decimal:
            return _decimal_bound(field.type, value, "-")
    # A truncated text is a prefix, which sorts before the full text.
    return value


def upper_bound(field: Field, value: str) -> str | None:
    """Return the SQL of an upper bound, given that of the value in ``maxValues``; see `written_value`."""
    if not has_bounds(field.type):
        return None
    match field.type.type:
        case "float" | "double":
            return _float_bound(field, value, "greatest")
        case "string":
            return _string_upper_bound(value)
        case "timestamp":
            later = "x + CASE WHEN x < {} THEN INTERVAL 61 SECONDS ELSE INTERVAL 1 MILLISECOND END"
            return _let(value, later.format(_OLD))
        case "timestamp_ntz":
            # Writers truncate to milliseconds.
            return f"TRY({value} + INTERVAL 1 MILLISECOND)"
        case _ if field.type.decimal:
            return _decimal_bound(field.type, value, "+")
    return value


def _let(value: str, body: str, name: str = "x") -> str:
    """Return `body` with a name bound to the value, computed once; NULL if `body` overflows its type."""
    return f"TRY(list_transform([{value}], lambda {name}: {body})[1])"


def _float_bound(field: Field, value: str, chosen: str) -> str:
    """Return a bound of floating-point numbers other than NaN.

    If a column was widened from float to double, old statistics have the shortest text of the float: 0.1,
    while the widened value is 0.10000000149011612. For a column with a changed type, the text is therefore
    read as both types, and the looser bound is used.
    """
    if field.type == PrimitiveType("double") and TYPE_CHANGES_KEY in field.metadata:
        value = _let(value, f"{chosen}(x, CAST(TRY_CAST(x AS FLOAT) AS DOUBLE))")
    return f"nullif({value}, 'NaN')"


def _decimal_bound(data_type: PrimitiveType, value: str, sign: str) -> str:
    """Return a bound of decimals, which are read as doubles here and in writers such as delta-rs.

    A double preserves 15 digits. For longer numbers, each of the two conversions has a relative error of up
    to 1 in 4e15, so the bound is widened by 1 in 1e15.
    """
    assert data_type.decimal is not None
    precision, scale = data_type.decimal
    if precision <= _EXACT_DIGITS:
        return value
    return _let(value, f"x {sign} CAST(abs(CAST(x AS DOUBLE)) * 1e-15 AS DECIMAL(38, {scale}))")


def _string_upper_bound(value: str) -> str:
    """Return an upper bound of strings, given a maximum that may be truncated.

    A truncated maximum must end in a tie-breaker that sorts after the removed characters. Spark used U+FFFD
    for years, which sorts before all characters outside the basic plane; and if Spark split such a character,
    it left a ``?``. So only the part before these characters is reliable: every value is less than this part
    or begins with it. The bound is this part with its last character replaced by the next character. A short
    text without a tie-breaker was not truncated and is used unchanged.
    """
    ties = "||".join(f"chr({ord(each)})" for each in _TIE_BREAKERS)
    successor = (
        f"CASE unicode(right(y, 1)) WHEN {_LAST_BEFORE_SURROGATES} THEN chr({_FIRST_AFTER_SURROGATES}) "
        "ELSE chr(unicode(right(y, 1)) + 1) END"
    )
    following = _let(
        f"rtrim(x, '?'||{ties})", f"CASE WHEN y <> '' THEN left(y, length(y) - 1)||{successor} END", "y"
    )
    is_whole = f"strlen(x) < {_CUT_BYTES} AND NOT contains({ties}, right(x, 1))"
    return _let(value, f"CASE WHEN {is_whole} THEN x ELSE {following} END")
