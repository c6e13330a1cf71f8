"""What a file's statistics prove of a column: a lower and an upper bound, as DuckDB SQL.

Implements the reading side of *Per-file Statistics* of PROTOCOL.md. What stands in ``minValues`` and
``maxValues``, in JSON or in the struct of a checkpoint, is not always a bound of the values in the file;
each function here says how far writers are known to be off, and gives a bound that holds all the same,
or NULL, which proves nothing. What cannot be read (no statistics, broken JSON, a text that is no value of
the type) is NULL too.

NaN has no place among bounds: Parquet's statistics leave it out, and with them those of every writer
that takes its statistics from there.
"""

from dataclasses import dataclass
from typing import TypeGuard

import pyarrow as pa

from deltaarrow.compute import quote_literal
from deltaarrow.partitions import duckdb_type
from deltaarrow.schema import DataType, Field, PrimitiveType, to_arrow_type
from deltaarrow.schema.keys import TYPE_CHANGES_KEY

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
"""Decimal digits that a double carries without loss."""
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
    """The members of a file's statistics as SQL over one row per file.

    What stands in the struct is taken from there, typed as it is; the JSON text is asked where the struct
    has nothing, or a type that does not bound the column's values.

    Attributes:
        json: the SQL of the JSON text, ``add.stats``; None where there is none.
        parsed: the SQL of the struct, ``add.stats_parsed``, None where there is none.
        parsed_type: its Arrow type.
    """

    json: str | None
    parsed: str | None = None
    parsed_type: pa.DataType | None = None

    def text(self, *path: str) -> str:
        """The text of a member of the JSON text, NULL where it is absent; names are those in the files."""
        if self.json is None:
            return "NULL::VARCHAR"
        # TRY: a broken text proves nothing, but it must not fail.
        return f"TRY(json_extract_string({self.json}, {quote_literal(self.pointer(*path))}))"

    @staticmethod
    def pointer(*path: str) -> str:
        """The JSON pointer of a member, which takes every name."""
        return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)

    def num_records(self) -> str:
        """How many rows the data file has, deleted ones included."""
        return self._count(("numRecords",), self.text("numRecords"))

    def null_count(self, path: tuple[str, ...]) -> str:
        """How many of them are NULL; of use only when 0 or equal to `num_records`, see `tightBounds`."""
        legacy = FileStatisticsSql(None if self.json is None else self.text("nullCounts"))
        return self._count(
            ("nullCount", *path), f"coalesce({self.text('nullCount', *path)}, {legacy.text(*path)})"
        )

    def is_all_null(self, path: tuple[str, ...], field: Field) -> str:
        """Whether every row is NULL; what has a smallest value is not, and nothing is counted there."""
        if not has_bounds(field.type):
            return f"{self.null_count(path)} = {self.num_records()}"
        least = ("minValues", *path)
        unknown = [f"{found} IS NULL" for found in (self.typed(least, field), self.text(*least)) if found]
        rarely = self.for_few()
        counted = f"{rarely.null_count(path)} = {rarely.num_records()}"
        return f"CASE WHEN {' AND '.join(unknown)} THEN {counted} ELSE FALSE END"

    def for_few(self) -> "FileStatisticsSql":
        """The same, for what is asked of few rows."""
        return self

    def lower_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        """No value in the file is less than this (NaN apart); None for types without an order."""
        return lower_bound(field, self._value(("minValues", *path), field))

    def upper_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        """No value in the file is greater than this (NaN apart); None for types without an order."""
        return upper_bound(field, self._value(("maxValues", *path), field))

    def _value(self, path: tuple[str, ...], field: Field) -> str:
        """A member as the column's type: a value that the writer found, or something near it."""
        return self._first(self.typed(path, field), written_value(field, self.text(*path)))

    def _count(self, path: tuple[str, ...], text: str) -> str:
        return self._first(self.typed(path, _COUNT), f"TRY_CAST({text} AS BIGINT)")

    def _first(self, typed: str | None, read: str) -> str:
        if typed is None:
            return read
        return typed if self.json is None else f"coalesce({typed}, {read})"

    def typed(self, path: tuple[str, ...], field: Field) -> str | None:
        """A member of the struct; None where there is none of a type that says something of the column."""
        if self.parsed is None or self.parsed_type is None:
            return None
        sql, arrow_type = self.parsed, self.parsed_type
        for name in path:
            # DuckDB does not tell names apart by case alone.
            like = [each for each in _members(arrow_type) if each.name.casefold() == name.casefold()]
            if [each.name for each in like] != [name]:
                return None
            sql, arrow_type = f"struct_extract({sql}, {quote_literal(name)})", like[0].type
        return _cast(field, sql, arrow_type)


_COUNT = Field("count", "long")


def _members(arrow_type: pa.DataType) -> list[pa.Field]:
    return list(arrow_type) if pa.types.is_struct(arrow_type) else []


def _cast(field: Field, sql: str, found: pa.DataType) -> str | None:
    """A typed member as the column's type; None for a type from which that may lose something.

    A checkpoint may be older than the type that the column has now.
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
                # INT96, which does not say that it is in UTC.
                return f"timezone('UTC', CAST({sql} AS TIMESTAMP))"
            accepts = bool(types.is_timestamp(found) and found.tz is not None)
        case "timestamp_ntz":
            accepts = bool(types.is_date(found) or (types.is_timestamp(found) and found.tz is None))
        case _:
            assert data_type.decimal is not None
            accepts = is_integer or bool(types.is_decimal(found) and found.scale <= data_type.decimal[1])
    return f"TRY_CAST({sql} AS {_bound_type(data_type)})" if accepts else None


def has_bounds(data_type: DataType) -> TypeGuard[PrimitiveType]:
    """Whether values of a type are ordered, so that statistics can bound them."""
    return isinstance(data_type, PrimitiveType) and (
        data_type.type in _ORDERED or data_type.decimal is not None
    )


def _bound_type(data_type: PrimitiveType) -> str:
    """The DuckDB type in which bounds are computed."""
    if data_type.type in _INTEGERS:
        return "BIGINT"
    if data_type.decimal and data_type.decimal[0] > _EXACT_DIGITS:
        return f"DECIMAL(38, {data_type.decimal[1]})"
    return duckdb_type(data_type)


def bound_arrow_type(data_type: PrimitiveType) -> pa.DataType:
    """The Arrow type in which bounds of a type come."""
    if data_type.type in _INTEGERS:
        return pa.int64()
    if data_type.decimal and data_type.decimal[0] > _EXACT_DIGITS:
        return pa.decimal128(38, data_type.decimal[1])
    return to_arrow_type(data_type)


def written_value(field: Field, text: str) -> str:
    """The SQL of a value in `minValues` or `maxValues`, out of the SQL of its text; NULL for no value."""
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
            # Without a zone it is known only to its writer.
            return f"TRY_CAST(regexp_extract({text}, {quote_literal(_INSTANT)}) AS TIMESTAMPTZ)"
        case "timestamp_ntz":
            # Or a date, from when the column was one.
            return f"TRY_CAST(regexp_extract({text}, {quote_literal(_WALL_TIME)}) AS TIMESTAMP)"
    return f"TRY_CAST({text} AS {_bound_type(field.type)})"


def lower_bound(field: Field, value: str) -> str | None:
    """The SQL of a lower bound, out of the SQL of what stands in ``minValues``; see `written_value`."""
    if not has_bounds(field.type):
        return None
    match field.type.type:
        case "float" | "double":
            return _float_bound(field, value, "least")
        case "timestamp":
            # Java writes offsets in hours and minutes, but zones had offsets with seconds until 1972.
            return _let(value, f"CASE WHEN x < {_OLD} THEN x - INTERVAL 1 MINUTE ELSE x END")
        case _ if field.type.decimal:
            return _decimal_bound(field.type, value, "-")
    # A cut text is a prefix, and a prefix sorts before what it was cut from.
    return value


def upper_bound(field: Field, value: str) -> str | None:
    """The SQL of an upper bound, out of the SQL of what stands in ``maxValues``; see `written_value`."""
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
            # Writers drop what is below a millisecond.
            return f"TRY({value} + INTERVAL 1 MILLISECOND)"
        case _ if field.type.decimal:
            return _decimal_bound(field.type, value, "+")
    return value


def _let(value: str, body: str, name: str = "x") -> str:
    """`body` with a name for the value, which is computed once; NULL where it is beyond its type."""
    return f"TRY(list_transform([{value}], lambda {name}: {body})[1])"


def _float_bound(field: Field, value: str, chosen: str) -> str:
    """Bounds of floating point numbers, NaN left out.

    A double that was a float when its file was written has the float's shortest text: 0.1, where the
    widened value is 0.10000000149011612. So in a column whose type has changed the value is taken
    both ways, and the looser one holds.
    """
    if field.type == PrimitiveType("double") and TYPE_CHANGES_KEY in field.metadata:
        value = _let(value, f"{chosen}(x, CAST(TRY_CAST(x AS FLOAT) AS DOUBLE))")
    return f"nullif({value}, 'NaN')"


def _decimal_bound(data_type: PrimitiveType, value: str, sign: str) -> str:
    """Bounds of decimals, which pass through a double here and in writers such as delta-rs.

    A double gives back 15 digits as they were. Of longer numbers it keeps the value to one part in
    4e15, twice over, so the bound is moved by one part in 1e15.
    """
    assert data_type.decimal is not None
    precision, scale = data_type.decimal
    if precision <= _EXACT_DIGITS:
        return value
    return _let(value, f"x {sign} CAST(abs(CAST(x AS DOUBLE)) * 1e-15 AS DECIMAL(38, {scale}))")


def _string_upper_bound(value: str) -> str:
    """An upper bound of strings, where the text may be cut.

    A cut maximum must end in a tie-breaker that sorts after what was cut off. Spark's was U+FFFD for
    years, which sorts before all characters beyond the basic plane; and where Spark cut such a character
    in half, a ``?`` is left of it. So of a text that may be cut only the part before all that counts:
    every value is less than it or begins with it, hence less than the same part with its last character
    replaced by the next one. A short text without a tie-breaker was not cut.
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
