"""Spark's INSERT, DELETE, UPDATE, MERGE and TRUNCATE."""

from collections.abc import Iterator, Mapping

from deltaarrow.operations.dml import ClauseKind, MergeClause, When
from deltaarrow.spark_sql import Words
from deltaarrow.sql.statements.rows import Delete, Insert, Merge, Truncate, Update

__all__ = ["parse_delete", "parse_insert", "parse_merge", "parse_truncate", "parse_update", "quoted"]

_QUERY = ("SELECT", "VALUES", "WITH", "FROM", "TABLE", "MAP", "REDUCE")
"""First words of a query that is in no brackets."""


def parse_insert(words: Words) -> Insert:
    """Read an INSERT.

    >>> insert = parse_insert(Words("INSERT OVERWRITE t PARTITION (day = 1) (id) VALUES (2)"))
    >>> insert.table.text, insert.overwrites, insert.partition, insert.columns, insert.query
    ('t', True, {'day': '1'}, ('id',), 'VALUES (2)')
    """
    words.expect("INSERT")
    evolves = words.take("WITH", "SCHEMA", "EVOLUTION")
    overwrites = words.take("OVERWRITE")
    if not overwrites:
        words.expect("INTO")
    words.take("TABLE")
    table = words.table_name()
    partition = _partition(words)
    if words.is_at("IF", "NOT", "EXISTS"):
        raise words.refused("PARTITION is expected without IF NOT EXISTS, as for every Delta table")
    by_name = words.take("BY", "NAME")
    replaced = None
    if not overwrites and words.take("REPLACE", "WHERE"):
        replaced = words.expression(*_QUERY)
    elif not by_name:
        by_name = words.take("BY", "NAME")
    columns = None
    if words.is_at("(") and not any(words.is_at("(", word) for word in (*_QUERY, "(")):
        columns = tuple(_names(words))
    if words.is_done or not any(words.is_at(word) for word in (*_QUERY, "(")):
        raise words.refused("a query or VALUES is expected")
    return Insert(
        table,
        words.rest,
        columns,
        by_name,
        overwrites or replaced is not None,
        replaced,
        partition,
        evolves,
    )


def _partition(words: Words) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    if not words.take("PARTITION"):
        return found
    words.expect("(")
    while True:
        name = words.identifier("a partition column")
        if name in found:
            raise words.refused("another partition column is expected before it")
        found[name] = words.expression(",", ")") if words.take("=") else None
        if not words.take(","):
            words.expect(")")
            return found


def _names(words: Words) -> list[str]:
    words.expect("(")
    found = [words.identifier("a column")]
    while words.take(","):
        found.append(words.identifier("a column"))
    words.expect(")")
    return found


def parse_delete(words: Words) -> Delete:
    """Read a DELETE.

    >>> parse_delete(Words("DELETE FROM t AS x WHERE x.id = 1")).condition
    'x.id = 1'
    """
    words.expect("DELETE")
    words.expect("FROM")
    table = words.table_name()
    alias = _alias(words, "WHERE")
    return Delete(table, alias, condition=_where(words))


def parse_update(words: Words) -> Update:
    """Read an UPDATE.

    >>> parse_update(Words("UPDATE t SET n = n + 1, st.a = 2 WHERE id = 1")).values
    {'n': 'n + 1', 'st.a': '2'}
    """
    words.expect("UPDATE")
    table = words.table_name()
    alias = _alias(words, "SET")
    words.expect("SET")
    values = _assigned(words, ",", "WHERE")
    return Update(table, values, alias, condition=_where(words))


def parse_truncate(words: Words) -> Truncate:
    """Read a TRUNCATE."""
    words.expect("TRUNCATE")
    words.expect("TABLE")
    table = words.table_name()
    words.expect_end()
    return Truncate(table)


def _where(words: Words) -> str | None:
    if not words.take("WHERE"):
        words.expect_end()
        return None
    condition = words.expression(";")
    words.expect_end()
    return condition


def _alias(words: Words, *ends: str) -> str | None:
    if words.take("AS"):
        return words.identifier("an alias")
    is_left_out = words.is_done or any(words.is_at(end) for end in (*ends, ";"))
    return None if is_left_out else words.identifier("an alias")


def quoted(name: str) -> str:
    """Return a name as one part of a path in Spark's notation.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`{}`".format(name.replace("`", "``"))


# --- MERGE -----------------------------------------------------------------------------------------


def parse_merge(words: Words) -> Merge:
    """Read a MERGE.

    >>> merge = parse_merge(
    ...     Words(
    ...         "MERGE INTO delta.`/t` AS t USING (SELECT 1 AS id) AS s ON t.id = s.id"
    ...         " WHEN MATCHED AND t.n > 2 THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    ...     )
    ... )
    >>> merge.source, merge.condition, [clause.predicate for clause in merge.clauses]
    ('SELECT 1 AS id', 't.id = s.id', ['t.n > 2', None])
    """
    words.expect("MERGE")
    evolves = words.take("WITH", "SCHEMA", "EVOLUTION")
    words.expect("INTO")
    table = words.table_name()
    alias = _alias(words, "USING")
    words.expect("USING")
    source, own_name = _source(words)
    source_alias = _alias(words, "ON") or own_name
    words.expect("ON")
    condition = words.expression("WHEN")
    clauses = tuple(_clauses(words))
    return Merge(table, source, condition, clauses, alias, source_alias, evolves)


def _source(words: Words) -> tuple[str, str | None]:
    """Return the source as a query, and the name that it has without an alias."""
    if words.is_at("("):
        return words.bracketed("the source, a query,"), None
    table = words.table_name()
    return f"SELECT * FROM {words.text[table.start : table.end]}", table.parts[-1]


def _clauses(words: Words) -> Iterator[MergeClause]:
    if words.is_done:
        words.expect("WHEN")
    while not words.is_done:
        if words.take(";"):
            words.expect_end()
            return
        words.expect("WHEN")
        when = _when(words)
        condition = words.expression("THEN") if words.take("AND") else None
        words.expect("THEN")
        yield MergeClause(when, *_action(words, when, condition))


def _when(words: Words) -> When:
    is_not = words.take("NOT")
    words.expect("MATCHED")
    if not is_not:
        return When.MATCHED
    if words.take("BY", "SOURCE"):
        return When.NOT_MATCHED_BY_SOURCE
    words.take("BY", "TARGET")
    return When.NOT_MATCHED


def _action(
    words: Words, when: When, condition: str | None
) -> tuple[ClauseKind, str | None, Mapping[str, str] | None]:
    if when is When.NOT_MATCHED:
        words.expect("INSERT")
        return ClauseKind.INSERT, condition, None if words.take("*") else _inserted(words)
    if words.take("DELETE"):
        return ClauseKind.DELETE, condition, None
    words.expect("UPDATE")
    words.expect("SET")
    if when is When.MATCHED and words.take("*"):
        return ClauseKind.UPDATE, condition, None
    return ClauseKind.UPDATE, condition, _assigned(words, ",", "WHEN")


def _assigned(words: Words, *ends: str) -> dict[str, str]:
    values: dict[str, str] = {}
    while True:
        column = words.until("=", *ends)
        if not column or column in values:
            raise words.refused("a column, and none twice, is expected before it")
        words.expect("=")
        values[column] = words.expression(*ends, ";")
        if not words.take(","):
            return values


def _inserted(words: Words) -> dict[str, str]:
    columns = words.listed("the list of columns")
    words.expect("VALUES")
    values = words.listed("the list of values")
    if len(columns) != len(values) or len(set(columns)) != len(columns):
        raise words.refused("as many values as columns, and no column twice, are expected before it")
    return dict(zip(columns, values, strict=True))
