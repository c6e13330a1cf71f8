"""The files of a COPY INTO as a relation that its query reads."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import duckdb

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import CorruptDataFileError, UnsupportedFeatureError
from deltaarrow.schema import PrimitiveType, Schema
from deltaarrow.sql.copy.source_rows import count_of_file, rows_of_files
from deltaarrow.sql.create_text import text_literal
from deltaarrow.sql.rows.spark import quoted
from deltaarrow.sql.rows.statements import COPIED_FILES

if TYPE_CHECKING:
    from deltaarrow.sql.copy.copied_files import SourceFiles
    from deltaarrow.sql.copy.source_options import SourceOptions
    from deltaarrow.sql.rows.statements import CopyInto
    from deltaarrow.sql.session import Session

__all__ = ["copied_files", "readable_files"]

_RAW = "__deltaarrow_files_as_read"

_DAMAGED = (
    *("magic bytes", "too small to be a Parquet", "Failed to read file", "don't know what type"),
    *("TProtocolException", "GZIP stream", "ZSTD"),
)
"""What DuckDB's errors say of a file that is damaged as a whole."""

_MALFORMED = ("CSV Error", "Malformed JSON")
"""What they say of a line that cannot be read."""

_MOST_DIGITS = 38
_WHOLE = "regexp_full_match({0}, '[+-]?[0-9]+')"
_DAY = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
_TIME = "[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?"
_INFERRED = {
    "INT": f"{_WHOLE} AND TRY_CAST({{0}} AS INTEGER) IS NOT NULL",
    "BIGINT": f"{_WHOLE} AND TRY_CAST({{0}} AS BIGINT) IS NOT NULL",
    "DECIMAL": f"{_WHOLE} AND length(ltrim({{0}}, '+-')) <= {_MOST_DIGITS}",
    "DOUBLE": "regexp_full_match({0}, '[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|NaN|-?Infinity')",
    "DATE": f"regexp_full_match({{0}}, '{_DAY}') AND TRY_CAST({{0}} AS DATE) IS NOT NULL",
    "TIMESTAMP": (
        f"regexp_full_match({{0}}, '{_DAY}({_TIME})?') AND TRY_CAST({{0}} AS TIMESTAMPTZ) IS NOT NULL"
    ),
    "BOOLEAN": "lower({0}) IN ('true', 'false')",
}
"""The types that texts may have, and the SQL of whether one has it, in the order in which they are tried."""


@contextlib.contextmanager
def copied_files(
    session: "Session", files: "SourceFiles", statement: "CopyInto", table: Schema, options: "SourceOptions"
) -> Iterator[bool]:
    """Make `COPIED_FILES` stand for the rows of files while the block runs.

    Yields whether the files have rows: False for texts that are all empty.

    Raises the exceptions of `rows_of_files`, and `CorruptDataFileError` for a file that cannot be read.
    """
    connection = session.connection
    cursor, locations = connection.connection, files.locations
    connection.reach(files.store, locations)
    try:
        with _naming_files():
            sql = rows_of_files(cursor, statement.format, locations, options)
            if sql is not None:
                _show(cursor, _RAW, sql)
                _show(cursor, COPIED_FILES, _typed(session, statement, table, options))
            yield sql is not None
    finally:
        for name in (COPIED_FILES, _RAW):
            cursor.execute(f"DROP VIEW IF EXISTS temp.main.{name}")


def _show(cursor: duckdb.DuckDBPyConnection, name: str, sql: str) -> None:
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")


def readable_files(session: "Session", files: "SourceFiles", source_format: str) -> "SourceFiles":
    """Return the files without those that are damaged; each is read for that."""
    cursor = session.connection.connection
    places = zip(files.names, files.locations, strict=True)
    return files.only([name for name, place in places if _is_readable(cursor, source_format, place)])


def _is_readable(cursor: duckdb.DuckDBPyConnection, source_format: str, location: str) -> bool:
    try:
        cursor.execute(count_of_file(source_format, location)).fetchall()
    except (duckdb.Error, OSError) as error:
        return not _tells(error, _DAMAGED)
    return True


@contextlib.contextmanager
def _naming_files() -> Iterator[None]:
    """Raise `CorruptDataFileError` for what DuckDB's readers tell of a file."""
    try:
        yield
    except Exception as error:
        cause = error if isinstance(error, duckdb.Error | OSError) else error.__cause__
        if not _tells(cause, _DAMAGED + _MALFORMED):
            raise
        lines = [line.strip() for line in str(cause).partition(": ")[2].splitlines() if line.strip()]
        raise CorruptDataFileError(
            f"[MALFORMED_RECORD_IN_PARSING] a file cannot be read: {'; '.join(lines[:3])}"
        ) from error


def _tells(error: BaseException | None, words: Sequence[str]) -> bool:
    return error is not None and any(each in str(error) for each in words)


def _typed(session: "Session", statement: "CopyInto", table: Schema, options: "SourceOptions") -> str:
    """The SQL of the rows with texts in the types that the options give them."""
    read = session.compiled(f"SELECT * FROM {_RAW}").schema
    texts = [field.name for field in read.fields if field.type == PrimitiveType("string")]
    values = {} if statement.query is not None else _formatted(texts, table, options)
    if statement.query is not None and (options.date_format or options.timestamp_format):
        raise UnsupportedFeatureError(
            "dateFormat and timestampFormat are for files that are copied without a SELECT: write"
            " to_date(column, format) or to_timestamp(column, format) in it",
            feature="dateFormat",
        )
    if options.infers_types:
        # A column of the table tells by itself what its texts are.
        unknown = [name for name in texts if statement.query is not None or table.find(name) is None]
        values |= _inferred(session.connection.connection, unknown)
    if not values:
        return f"SELECT * FROM {_RAW}"
    listed = (f"{values.get(each.name, quoted(each.name))} AS {quoted(each.name)}" for each in read.fields)
    return session.compiled(f"SELECT {', '.join(listed)} FROM {_RAW}").sql


def _formatted(texts: list[str], table: Schema, options: "SourceOptions") -> dict[str, str]:
    """Spark SQL of the texts for columns of dates and times, by name."""
    readers: Mapping[str, tuple[str, str | None]] = {
        "date": ("to_date", options.date_format),
        "timestamp": ("to_timestamp", options.timestamp_format),
    }
    found = {}
    for name in texts:
        column = table.find(name)
        data_type = None if column is None else column.type
        if not isinstance(data_type, PrimitiveType) or data_type.type not in readers:
            continue
        function, pattern = readers[data_type.type]
        if pattern is not None:
            found[name] = f"{function}({quoted(name)}, {text_literal(pattern)})"
    return found


def _inferred(cursor: duckdb.DuckDBPyConnection, texts: list[str]) -> dict[str, str]:
    """Spark SQL of texts in the first type that all of a column have, by name."""
    if not texts:
        return {}
    asked = []
    for name in texts:
        column = quote_identifier(name)
        asked += [f"bool_and({condition.format(column)})" for condition in _INFERRED.values()]
        asked.append(f"max(length(ltrim({column}, '+-')))")
    [answers] = cursor.execute(f"SELECT {', '.join(asked)} FROM {_RAW}").fetchall()
    found, width = {}, len(_INFERRED) + 1
    for place, name in enumerate(texts):
        *are, digits = answers[place * width : (place + 1) * width]
        kind = next((kind for kind, holds in zip(_INFERRED, are, strict=True) if holds), None)
        if kind is not None:
            said = f"DECIMAL({digits}, 0)" if kind == "DECIMAL" else kind
            found[name] = f"CAST({quoted(name)} AS {said})"
    return found
