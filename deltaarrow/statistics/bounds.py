"""What a file's statistics prove of a column: a lower and an upper bound, as DuckDB SQL.

Implements the reading side of *Per-file Statistics* of PROTOCOL.md. The texts in ``minValues`` and
``maxValues`` are not always bounds of the values in the file; each function here says how far writers
are known to be off, and gives a bound that holds all the same, or NULL, which proves nothing. What
cannot be read (no statistics, broken JSON, a text that is no value of the type) is NULL too.

NaN has no place among bounds: Parquet's statistics leave it out, and with them those of every writer
that takes its statistics from there.
"""

from dataclasses import dataclass

from deltaarrow.compute import quote_literal
from deltaarrow.partitions import duckdb_type
from deltaarrow.schema import Field, PrimitiveType

__all__ = ["FileStatisticsSql", "lower_bound", "upper_bound"]

_INTEGERS = ("byte", "short", "integer", "long")
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

    Attributes:
        json: the SQL of the JSON text, ``add.stats``.
        parsed: the SQL of the struct, ``add.stats_parsed``, None where there is none. It must have all
            members that are asked for; where one is NULL the JSON text is asked.
    """

    json: str
    parsed: str | None = None

    def text(self, *path: str) -> str:
        """The text of a member, NULL where it is absent; names are those in the data files."""
        # A JSON pointer takes every name. TRY: a broken text proves nothing, but it must not fail.
        pointer = "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)
        text = f"TRY(json_extract_string({self.json}, {quote_literal(pointer)}))"
        if self.parsed is None:
            return text
        member = self.parsed
        for name in path:
            member = f"struct_extract({member}, {quote_literal(name)})"
        return f"coalesce(CAST({member} AS VARCHAR), {text})"

    def num_records(self) -> str:
        """How many rows the data file has, deleted ones included."""
        return f"TRY_CAST({self.text('numRecords')} AS BIGINT)"

    def null_count(self, path: tuple[str, ...]) -> str:
        """How many of them are NULL; of use only when 0 or equal to `num_records`, see `tightBounds`."""
        legacy = f"TRY(json_extract_string({self.json}, {quote_literal('/nullCounts')}))"
        current = self.text("nullCount", *path)
        older = FileStatisticsSql(legacy).text(*path)
        return f"TRY_CAST(coalesce({current}, {older}) AS BIGINT)"

    def lower_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        """No value in the file is less than this (NaN apart); None for types without an order."""
        return lower_bound(field, self.text("minValues", *path))

    def upper_bound(self, path: tuple[str, ...], field: Field) -> str | None:
        """No value in the file is greater than this (NaN apart); None for types without an order."""
        return upper_bound(field, self.text("maxValues", *path))


def lower_bound(field: Field, text: str) -> str | None:
    """The SQL of a lower bound, out of the SQL of the text in ``minValues``."""
    if not isinstance(field.type, PrimitiveType):
        return None
    match field.type.type:
        case name if name in _INTEGERS:
            return f"TRY_CAST({text} AS BIGINT)"
        case "float" | "double":
            return _float_bound(field, text, "least")
        case "string":
            # A cut text is a prefix, and a prefix sorts before what it was cut from.
            return text
        case "date":
            return f"TRY_CAST(regexp_extract({text}, '{_DAY}$') AS DATE)"
        case "timestamp":
            return _let(_instant(text), f"CASE WHEN x < {_OLD} THEN x - INTERVAL 1 MINUTE ELSE x END")
        case "timestamp_ntz":
            return _wall_time(text)
        case _ if field.type.decimal:
            return _decimal_bound(field.type, text, "-")
    return None


def upper_bound(field: Field, text: str) -> str | None:
    """The SQL of an upper bound, out of the SQL of the text in ``maxValues``."""
    if not isinstance(field.type, PrimitiveType):
        return None
    match field.type.type:
        case name if name in _INTEGERS:
            return f"TRY_CAST({text} AS BIGINT)"
        case "float" | "double":
            return _float_bound(field, text, "greatest")
        case "string":
            return _string_upper_bound(text)
        case "date":
            return f"TRY_CAST(regexp_extract({text}, '{_DAY}$') AS DATE)"
        case "timestamp":
            later = "x + CASE WHEN x < {} THEN INTERVAL 61 SECONDS ELSE INTERVAL 1 MILLISECOND END"
            return _let(_instant(text), later.format(_OLD))
        case "timestamp_ntz":
            # Writers drop what is below a millisecond.
            return f"({_wall_time(text)} + INTERVAL 1 MILLISECOND)"
        case _ if field.type.decimal:
            return _decimal_bound(field.type, text, "+")
    return None


def _let(value: str, body: str, name: str = "x") -> str:
    """`body` with a name for the value, which is computed once."""
    return f"list_transform([{value}], lambda {name}: {body})[1]"


def _float_bound(field: Field, text: str, chosen: str) -> str:
    """Bounds of floating point numbers, NaN left out.

    A double that was a float when its file was written has the float's shortest text: 0.1, where the
    widened value is 0.10000000149011612. So in a column whose type has changed the text is read both
    ways, and the looser reading holds.
    """
    assert isinstance(field.type, PrimitiveType)
    read = f"TRY_CAST({text} AS {duckdb_type(field.type)})"
    if field.type.type == "double" and "delta.typeChanges" in field.metadata:
        read = f"{chosen}({read}, CAST(TRY_CAST({text} AS FLOAT) AS DOUBLE))"
    return f"nullif({read}, 'NaN')"


def _decimal_bound(data_type: PrimitiveType, text: str, sign: str) -> str:
    """Bounds of decimals, which pass through a double here and in writers such as delta-rs.

    A double gives back 15 digits as they were. Of longer numbers it keeps the value to one part in
    4e15, twice over, so the bound is moved by one part in 1e15.
    """
    assert data_type.decimal is not None
    precision, scale = data_type.decimal
    if precision <= _EXACT_DIGITS:
        return f"TRY_CAST({text} AS DECIMAL({precision}, {scale}))"
    wide = f"DECIMAL(38, {scale})"
    moved = f"x {sign} CAST(abs(CAST(x AS DOUBLE)) * 1e-15 AS {wide})"
    return _let(f"TRY_CAST({text} AS {wide})", moved)


def _instant(text: str) -> str:
    """A time with its zone; without one it is known only to its writer.

    Java writes offsets in hours and minutes, but zones had offsets with seconds until 1972. The callers
    move such a bound by a minute.
    """
    return f"TRY_CAST(regexp_extract({text}, {quote_literal(_INSTANT)}) AS TIMESTAMPTZ)"


def _wall_time(text: str) -> str:
    """A time without a zone, or a date from when the column was one."""
    return f"TRY_CAST(regexp_extract({text}, {quote_literal(_WALL_TIME)}) AS TIMESTAMP)"


def _string_upper_bound(text: str) -> str:
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
    return _let(text, f"CASE WHEN {is_whole} THEN x ELSE {following} END")
