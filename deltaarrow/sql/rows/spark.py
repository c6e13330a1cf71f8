"""Spark's INSERT, DELETE, UPDATE, MERGE and TRUNCATE."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from deltaarrow.operations.dml import ClauseKind, MergeClause, When
from deltaarrow.spark_sql import Words
from deltaarrow.sql.clauses import parse_names
from deltaarrow.sql.rows.statements import Delete, Insert, Merge, Truncate, Update

__all__ = ["parse_delete", "parse_insert", "parse_merge", "parse_truncate", "parse_update", "quoted"]

_QUERY = ("SELECT", "VALUES", "WITH", "FROM", "TABLE", "MAP", "REDUCE")
"""First words of a query that is in no brackets."""

_AFTER_MATCH = (
    "BY NAME",
    *(f"{bracket}{word}" for word in ("SELECT", "VALUES", "WITH", "TABLE") for bracket in ("", "( ")),
)
"""What may follow the condition of a REPLACE ON."""

_SET_OPERATORS = ("UNION", "EXCEPT", "MINUS", "INTERSECT")


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
    words.take_table("(", "PARTITION", "BY", "REPLACE", *_QUERY)
    table = words.table_name()
    partition = _partition(words)
    if words.is_at("IF", "NOT", "EXISTS"):
        raise words.refused("PARTITION is expected without IF NOT EXISTS, as for every Delta table")
    insert = Insert(table, None, overwrites=overwrites, partition=partition, evolves=evolves)
    alias = None if overwrites or partition else _replacing_alias(words)
    by_name = words.take("BY", "NAME")
    if not overwrites and words.take("REPLACE", "WHERE"):
        insert = replace(insert, overwrites=True, replaced=words.expression(*_QUERY))
    elif not overwrites and not partition and words.take("REPLACE", "USING"):
        insert = replace(insert, using=parse_names(words))
    elif not overwrites and not partition and words.take("REPLACE", "ON"):
        return _replacing_on(words, replace(insert, alias=alias, by_name=by_name))
    by_name = by_name or words.take("BY", "NAME")
    columns = None
    if words.is_at("(") and not any(words.is_at("(", word) for word in (*_QUERY, "(")):
        columns = parse_names(words)
    if words.is_done or not any(words.is_at(word) for word in (*_QUERY, "(")):
        raise words.refused("a query or VALUES is expected")
    return replace(insert, query=words.rest, columns=columns, by_name=by_name)


def _replacing_alias(words: Words) -> str | None:
    """The alias of the table before a REPLACE ON."""
    start = words.here()
    words.take("AS")
    if not (words.is_done or words.is_at("(") or words.is_at("REPLACE") or words.is_at_string):
        alias = words.identifier("an alias")
        if words.is_at("REPLACE", "ON") or words.is_at("BY", "NAME", "REPLACE", "ON"):
            return alias
    words.back_to(start)
    return None


def _replacing_on(words: Words, insert: Insert) -> Insert:
    match = words.expression(*_AFTER_MATCH)
    by_name = insert.by_name or words.take("BY", "NAME")
    start, query, alias = words.here(), None, None
    if words.is_at("("):
        query = words.bracketed("a query")
        if any(map(words.is_at, _SET_OPERATORS)):
            words.back_to(start)
            query = None
        else:
            alias = _alias(words)
            words.expect_end()
    return replace(insert, match=match, by_name=by_name, query=query or words.rest, query_alias=alias)


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
        if not column:
            raise words.refused("a column is expected before it")
        if column in values:
            raise words.refused(f"the column {column} is set twice", "DELTA_CONFLICT_SET_COLUMN")
        words.expect("=")
        values[column] = words.expression(*ends, ";")
        if not words.take(","):
            return values


def _inserted(words: Words) -> dict[str, str]:
    columns = words.listed("the list of columns")
    words.expect("VALUES")
    values = words.listed("the list of values")
    if len(columns) != len(values):
        raise words.refused("as many values as columns are expected", "MERGE_INSERT_VALUE_COUNT_MISMATCH")
    if len(set(columns)) != len(columns):
        raise words.refused("no column is expected twice", "DELTA_CONFLICT_SET_COLUMN")
    return dict(zip(columns, values, strict=True))
