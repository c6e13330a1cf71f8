"""DuckDB's COPY ... TO with the format delta."""

from deltaarrow.engines import PLACES
from deltaarrow.spark_sql import TableName, Words
from deltaarrow.sql.statements.rows import CopyTo

__all__ = ["parse_copy"]

_MODES = ("append", "overwrite", "error", "ignore")
_SCHEMA_MODES = ("merge", "overwrite")


def parse_copy(words: Words) -> CopyTo | None:
    """Read a COPY; None for one that reads, or that writes another format.

    >>> copy = parse_copy(
    ...     Words("COPY (FROM u) TO '/data/t' (FORMAT delta, PARTITION_BY (id), MODE append)", "duckdb")
    ... )
    >>> copy.table.text, copy.mode, copy.partition_by
    ('delta.`/data/t`', 'append', ('id',))
    >>> parse_copy(Words("COPY t TO 'file.csv'", "duckdb"))
    """
    words.expect("COPY")
    start, is_query = words.start, words.is_at("(")
    if is_query:
        query = words.bracketed("the query")
    else:
        query = f"FROM {words.until('TO', 'FROM', '(')}"
        if words.is_at("("):
            query = f"SELECT {words.bracketed('columns')} {query}"
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
