"""DuckDB's ATTACH, DETACH, SHOW and DESCRIBE over Delta tables."""

from typing import Any

from deltaarrow.spark_sql import Words
from deltaarrow.sql.describe.spark import parse_describe, parse_show
from deltaarrow.sql.describe.statements import Attach, DescribeTable, Detach, ShowTables, Summarize

__all__ = ["parse_attach", "parse_detach", "parse_duckdb_describe", "parse_duckdb_show", "parse_summarize"]

_SPARKS_SHOW = ("TBLPROPERTIES", "COLUMNS", "PARTITIONS", "CREATE")
_QUERIES = ("SELECT", "FROM", "WITH", "VALUES", "(")
_SPARKS_DESCRIBE = ("DETAIL", "HISTORY", "EXTENDED")


def parse_attach(words: Words) -> Attach | None:
    """Read an ATTACH of a folder of Delta tables; None for any other.

    >>> parse_attach(Words("ATTACH '/data' AS lake (TYPE delta)", "duckdb"))
    Attach(folder='/data', name='lake', may_replace=False, if_not_exists=False)
    >>> parse_attach(Words("ATTACH 'file.db' AS other", "duckdb"))
    """
    words.expect("ATTACH")
    may_replace = words.take("OR", "REPLACE")
    words.take("DATABASE")
    if_not_exists = words.take("IF", "NOT", "EXISTS")
    if not words.is_at_string:
        return None
    folder = words.string("a folder")
    name = words.identifier("a name") if words.take("AS") else None
    if not words.take("("):
        return None
    is_delta, others = False, list[str]()
    while not words.is_at(")") and not words.is_done:
        option = words.identifier("an option")
        value = words.until(",", ")")
        is_delta = is_delta or (option.upper() == "TYPE" and value.strip("'\"").lower() == "delta")
        if option.upper() != "TYPE":
            others.append(option)
        if not words.take(","):
            break
    if not is_delta:
        return None
    if others:
        raise words.refused(f"the option {others[0]} is not supported: only TYPE delta is expected")
    words.expect(")")
    words.expect_end()
    return Attach(folder, name, may_replace, if_not_exists)


def parse_detach(words: Words) -> Detach:
    """Read a DETACH.

    >>> parse_detach(Words("DETACH lake", "duckdb")).name
    'lake'
    """
    words.expect("DETACH")
    words.take("DATABASE")
    words.take("IF", "EXISTS")
    name = words.identifier("a name")
    words.expect_end()
    return Detach(name, words.text)


def parse_duckdb_show(words: Words) -> Any:
    """Read a SHOW that is about Delta tables; None for any other.

    >>> parse_duckdb_show(Words("SHOW TABLES FROM lake", "duckdb")).schema
    ('lake',)
    """
    text = words.text
    words.expect("SHOW")
    if any(words.is_at(each) for each in _SPARKS_SHOW):
        return parse_show(Words(text, "duckdb"))
    if words.take("TABLES"):
        schema = words.table_name().parts if words.take("FROM") or words.take("IN") else None
        words.expect_end()
        return ShowTables(schema, None, text)
    if words.is_at("ALL") or words.is_at("DATABASES") or words.is_at("SCHEMAS"):
        return None
    table = words.table_name()
    words.expect_end()
    return DescribeTable(table, text=text)


def parse_summarize(words: Words) -> Summarize | None:
    """Read a SUMMARIZE of a Delta table; None for that of a query.

    >>> parse_summarize(Words("SUMMARIZE lake.t", "duckdb")).table.text
    'lake.t'
    """
    words.expect("SUMMARIZE")
    if any(words.is_at(each) for each in _QUERIES):
        return None
    table = words.table_name()
    words.expect_end()
    return Summarize(table, words.text)


def parse_duckdb_describe(words: Words) -> Any:
    """Read a DESCRIBE of a Delta table; None for that of a query.

    >>> parse_duckdb_describe(Words("DESCRIBE lake.t", "duckdb")).table.text
    'lake.t'
    """
    text = words.text
    if not words.take("DESCRIBE"):
        words.expect("DESC")
    if any(words.is_at(each) for each in _SPARKS_DESCRIBE):
        return parse_describe(Words(text, "duckdb"))
    if any(words.is_at(each) for each in _QUERIES):
        return None
    words.take("TABLE")
    table = words.table_name()
    return DescribeTable(table, text=text) if words.is_done or words.take(";") else None
