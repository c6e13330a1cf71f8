"""The rows of CSV, JSON and Parquet files, as a query for DuckDB with Spark's names and types.

=======  ===============================================================================================
format   columns
=======  ===============================================================================================
Parquet  those of the files
CSV      those that the header names, or ``_c0``, ``_c1`` ...; all of them are texts
JSON     the keys of the objects, sorted; whole numbers are BIGINT, other numbers DOUBLE, a key with values of
         several kinds is a text, and a list or an object has the fields of all
=======  ===============================================================================================

Spark drops what it cannot read of a damaged line, or makes it NULL, unless it is told ``mode = FAILFAST``.
Here such a line is always an error.
"""

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from deltaarrow.compute import quote_file, quote_identifier, quote_literal
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.sql.copy.source_options import SourceOptions

if TYPE_CHECKING:
    import duckdb

__all__ = ["count_of_file", "rows_of_files"]

_UNUSED = "\x01"
"""A character that no text file has."""

_FIRST_LINES = 100
_WHOLE_NUMBERS = ("UBIGINT", "BIGINT", "HUGEINT")


def rows_of_files(
    cursor: "duckdb.DuckDBPyConnection", source_format: str, files: Sequence[str], options: SourceOptions
) -> str | None:
    """Return a query of the rows of files; None for texts that are all empty, and so have no columns.

    Args:
        cursor: reads the files.
        source_format: ``csv``, ``json`` or ``parquet``.
        files: their locations.
        options: how they are read.

    Raises `SchemaMismatchError` for files whose columns differ, and `UnsupportedFeatureError` for texts that
    Spark may read otherwise. DuckDB's errors tell of a file that cannot be read.
    """
    if source_format == "parquet":
        return _parquet(cursor, files, options)
    if source_format == "json":
        return _json(cursor, files, options)
    return _csv(cursor, files, options)


def count_of_file(source_format: str, file: str) -> str:
    """Return a query that reads all of a file, and neither its lines nor their values."""
    if source_format == "parquet":
        return f"SELECT count(hash(row)) FROM read_parquet({quote_file(file)}) AS row"
    return f"SELECT count(*) FROM {_lines([file])}"


def _ensure_same(columns: Sequence[tuple[str, ...]], options: SourceOptions) -> None:
    """Raise unless all files have the same columns, or may differ."""
    first = {name.lower() for name in columns[0]}
    other = next((each for each in columns if {name.lower() for name in each} != first), None)
    if other is not None and not options.merges_schema:
        raise SchemaMismatchError(
            f"the files have different columns ({', '.join(columns[0])}; {', '.join(other)}): say"
            " FORMAT_OPTIONS ('mergeSchema' = 'true') to take those of all, with NULL where a file lacks one"
        )


def _listed(files: Sequence[str]) -> str:
    return f"[{', '.join(map(quote_file, files))}]"


def _parquet(cursor: "duckdb.DuckDBPyConnection", files: Sequence[str], options: SourceOptions) -> str:
    source = f"read_parquet({_listed(files)}, union_by_name = true, hive_partitioning = false)"
    names = cursor.execute(
        f"SELECT DISTINCT list(name) FROM parquet_schema({_listed(files)}) GROUP BY file_name"
    ).fetchall()
    _ensure_same([tuple(each) for (each,) in names], options)
    return f"SELECT * FROM {source}"


# --- CSV -------------------------------------------------------------------------------------------


def _lines(files: Sequence[str]) -> str:
    """The lines of text files that are not blank, as ``line``."""
    source = _read_csv(files, ["line"], delim=_UNUSED, quote="", escape="", header=False)
    return f"(SELECT line FROM {source} WHERE trim(line) <> '')"


def _read_csv(files: Sequence[str], columns: Sequence[str], *, header: bool, **characters: str) -> str:
    types = ", ".join(f"{quote_literal(name)}: 'VARCHAR'" for name in columns)
    said = ", ".join(f"{name} = {quote_literal(text)}" for name, text in characters.items())
    return (
        f"read_csv({_listed(files)}, auto_detect = false, columns = {{{types}}}, header = {header}, {said},"
        " nullstr = '', allow_quoted_nulls = false, strict_mode = true)"
    )


def _csv(cursor: "duckdb.DuckDBPyConnection", files: Sequence[str], options: SourceOptions) -> str | None:
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        if names := _csv_columns(cursor, file, options):
            by_columns.setdefault(names, []).append(file)
    if not by_columns:
        return None
    _ensure_same([*by_columns], options)
    escape = _escape(cursor, files, options)
    parts = []
    for names, own in by_columns.items():
        source = _read_csv(
            own,
            [f"c{place}" for place in range(len(names))],
            header=options.has_header,
            delim=options.separator,
            quote=options.quote,
            escape=escape,
        )
        columns = (_csv_value(f"c{place}", name, options) for place, name in enumerate(names))
        parts.append(f"SELECT {', '.join(columns)} FROM {source}")
    return " UNION ALL BY NAME ".join(parts)


def _csv_columns(cursor: "duckdb.DuckDBPyConnection", file: str, options: SourceOptions) -> tuple[str, ...]:
    """The names of the columns of a file; none for an empty one."""
    lines = [line for (line,) in cursor.execute(f"FROM {_lines([file])} LIMIT {_FIRST_LINES}").fetchall()]
    if not lines:
        return ()
    has_quote, doubles = bool(options.quote), options.escape == options.quote
    try:
        reader = csv.reader(
            (f"{line}\n" for line in lines),
            delimiter=options.separator,
            quotechar=options.quote or None,
            quoting=csv.QUOTE_MINIMAL if has_quote else csv.QUOTE_NONE,
            doublequote=doubles,
            escapechar=options.escape if has_quote and not doubles else None,
            strict=True,
        )
        first = next(reader)
    except csv.Error as error:
        raise UnsupportedFeatureError(
            f"the first line of {file} cannot be read with the options that are given: {error}", feature="CSV"
        ) from error
    if not options.has_header:
        return tuple(f"_c{place}" for place in range(len(first)))
    # As in Spark, every one of several columns of one name gets its place.
    folded = [name.lower() for name in first]
    return tuple(
        f"{name}{place}" if name and folded.count(name.lower()) > 1 else name or f"_c{place}"
        for place, name in enumerate(first)
    )


def _escape(cursor: "duckdb.DuckDBPyConnection", files: Sequence[str], options: SourceOptions) -> str:
    """The character that DuckDB takes for the escape.

    Spark keeps an escape before another character than a quote or an escape, and DuckDB drops it. So it is
    an ordinary character where it stands before others only. Blanks around quotes make these ordinary
    characters for Spark, and DuckDB drops the blanks.

    Raises `UnsupportedFeatureError` for texts that the two would read in different ways.
    """
    quote, escape, separator = (f"\\{each}" for each in (options.quote, options.escape, options.separator))
    if not options.quote:
        return ""
    pair = quote_literal(f"{escape}[{quote}{escape}]")
    blanks = quote_literal(f"(^|{separator}) +{quote}|{quote} +({separator}|$)")
    rest = f"regexp_replace(line, {pair}, '', 'g')"
    [(has_pairs, has_others, has_blanks)] = cursor.execute(
        f"SELECT bool_or(regexp_matches(line, {pair})),"
        f" bool_or(contains({rest}, {quote_literal(options.escape)})),"
        f" bool_or(regexp_matches({rest}, {blanks})) FROM {_lines(files)}"
    ).fetchall()
    if has_blanks:
        raise UnsupportedFeatureError(
            f"a line has a blank between {options.separator} and {options.quote}, where Spark takes"
            f" {options.quote} for a part of the value: remove the blank",
            feature="CSV",
        )
    if options.escape == options.quote or not has_others:
        return options.escape
    if has_pairs:
        raise UnsupportedFeatureError(
            f"{options.escape} stands before quotes and before other characters, where Spark keeps it: write"
            " it twice there, or give the option escape the character that is meant",
            feature="CSV",
        )
    return _UNUSED


def _csv_value(column: str, name: str, options: SourceOptions) -> str:
    value = f"NULLIF({column}, {quote_literal(options.null_text)})"
    if not options.is_multi_line:
        message = quote_literal(f"a value of {name} has several lines: say 'multiLine' = 'true'")
        value = f"CASE WHEN contains({column}, chr(10)) THEN error({message}) ELSE {value} END"
    return f"{value} AS {quote_identifier(name)}"


# --- JSON ------------------------------------------------------------------------------------------


def _json(cursor: "duckdb.DuckDBPyConnection", files: Sequence[str], options: SourceOptions) -> str | None:
    documents = _lines(files)
    if options.is_multi_line:
        documents = f"(SELECT content AS line FROM read_text({_listed(files)}) WHERE trim(content) <> '')"
    objects = (
        "(SELECT unnest(CASE json_type(j) WHEN 'ARRAY' THEN CAST(j AS JSON[]) ELSE [j] END) AS j"
        f" FROM (SELECT CAST(line AS JSON) AS j FROM {documents}))"
    )
    [(structure, others, repeated)] = cursor.execute(
        "SELECT json_group_structure(j), bool_or(json_type(j) <> 'OBJECT'),"
        " bool_or(len(json_keys(j)) <> len(list_distinct(list_transform(json_keys(j), lambda k: lower(k)))))"
        f" FROM {objects}"
    ).fetchall()
    if others:
        raise SchemaMismatchError("[MALFORMED_RECORD_IN_PARSING] a line of the files is no JSON object")
    fields: dict[str, Any] = orjson.loads(structure) if structure else {}
    columns = {name: kind for name, kind in sorted(fields.items()) if kind != {}}
    if repeated or len({name.lower() for name in columns}) < len(columns):
        raise SchemaMismatchError("[COLUMN_ALREADY_EXISTS] two keys differ in nothing or only in their case")
    if not columns:
        return None
    values = (
        f"{_json_value(_member('j', name), kind, 0)} AS {quote_identifier(name)}"
        for name, kind in columns.items()
    )
    return f"SELECT {', '.join(values)} FROM {objects}"


def _member(value: str, key: str) -> str:
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    return f"json_extract({value}, {quote_literal(pointer)})"


def _json_value(value: str, kind: Any, depth: int) -> str:
    """The SQL of a value of JSON in the type of a structure, as ``json_structure`` writes it."""
    if isinstance(kind, list):
        item = f"x{depth}"
        inner = _json_value(item, kind[0] if kind else "VARCHAR", depth + 1)
        return f"list_transform(CAST({value} AS JSON[]), lambda {item}: {inner})"
    if isinstance(kind, dict):
        packed = ", ".join(
            f"{quote_identifier(name)} := {_json_value(_member(value, name), each, depth)}"
            for name, each in sorted(kind.items())
        )
        return f"CASE WHEN json_type({value}) = 'OBJECT' THEN struct_pack({packed}) END"
    if kind in _WHOLE_NUMBERS:
        return f"CAST({value} AS BIGINT)"
    if kind in ("DOUBLE", "BOOLEAN"):
        return f"CAST({value} AS {kind})"
    return f"json_extract_string({value}, '$')"
