"""DuckDB's COPY: to the format delta, and of Delta tables to and from other formats."""

from deltaarrow.compute import quote_identifier
from deltaarrow.engines import PLACES
from deltaarrow.spark_sql import TableName, Words
from deltaarrow.sql.clauses import parse_names
from deltaarrow.sql.rows.statements import CopyFrom, CopyOut, CopyTo

__all__ = ["parse_copy"]

_MODES = ("append", "overwrite", "error", "ignore")
_SCHEMA_MODES = ("merge", "overwrite")


def parse_copy(words: Words) -> CopyTo | CopyOut | CopyFrom | None:
    """Read a COPY; None for that of a query into another format.

    >>> copy = parse_copy(
    ...     Words("COPY (FROM u) TO '/data/t' (FORMAT delta, PARTITION_BY (id), MODE append)", "duckdb")
    ... )
    >>> copy.table.text, copy.mode, copy.partition_by
    ('delta.`/data/t`', 'append', ('id',))
    >>> parse_copy(Words("COPY lake.t TO 'file.csv'", "duckdb")).query
    "COPY (FROM lake.t) TO 'file.csv'"
    >>> parse_copy(Words("COPY lake.t (a) FROM 'file.csv'", "duckdb")).columns
    ('a',)
    """
    words.expect("COPY")
    if words.is_at("("):
        return _copied_to(words, words.bracketed("the query"))
    table = words.table_name()
    columns = parse_names(words) if words.is_at("(") else None
    rest = words.text[words.start :]
    if words.is_at("FROM"):
        return CopyFrom(table, columns, rest, words.text)
    listed = "" if columns is None else f"SELECT {', '.join(map(quote_identifier, columns))} "
    query = f"{listed}FROM {'.'.join(map(_name, table.parts))}"
    found = _copied_to(words, query)
    return CopyOut(table, f"COPY ({query}) {rest}", words.text) if found is None else found


def _name(part: str) -> str:
    return part if part.isidentifier() else quote_identifier(part)


def _copied_to(words: Words, query: str) -> CopyTo | None:
    """Read the target of a COPY of a query; None for one in another format than Delta."""
    if not words.take("TO"):
        return None
    start, is_name = words.start, True
    if words.is_at_string:
        is_name, place = False, words.string("the place of the table")
        table = TableName((PLACES, place), start, words.end)
    else:
        table = words.table_name()
    options = _options(words)
    if not is_name and (options.pop("FORMAT", "") or "").strip("'\"").lower() != PLACES:
        return None
    options.pop("FORMAT", None)
    mode = _one_of(words, "MODE", options.pop("MODE", "error"), _MODES)
    merge = options.pop("SCHEMA_MODE", None)
    schema_mode = None if merge is None else _one_of(words, "SCHEMA_MODE", merge, _SCHEMA_MODES)
    partition_by = options.pop("PARTITION_BY", None)
    if options:
        raise words.refused(
            f"{next(iter(options))} is no option of the format delta, which has FORMAT, MODE, PARTITION_BY"
            " and SCHEMA_MODE: the end is expected"
        )
    words.expect_end()
    columns = None if partition_by is None else _columns(partition_by)
    return CopyTo(query, table, mode, columns, schema_mode)


def _options(words: Words) -> dict[str, str]:
    found: dict[str, str] = {}
    words.take("WITH")
    if not words.take("("):
        return found
    while not words.take(")"):
        name = words.identifier("an option").upper()
        if name in found:
            raise words.refused("another option is expected before it")
        found[name] = words.until(",", ")")
        words.take(",")
    return found


def _one_of(words: Words, name: str, text: str, known: tuple[str, ...]) -> str:
    value = text.strip("'\"").lower()
    if value not in known:
        raise words.refused(f"{name} is one of {', '.join(known)}, not {text}: the end is expected")
    return value


def _columns(text: str) -> tuple[str, ...]:
    inner = Words(text, "duckdb")
    is_listed = inner.take("(")
    found = [inner.identifier("a column")]
    while is_listed and inner.take(","):
        found.append(inner.identifier("a column"))
    if is_listed:
        inner.expect(")")
    inner.expect_end()
    return tuple(found)
